// Writes docs/start.png, the picture of `npm start` in the README. Build first; uses the Chromium of the tests.
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { launchChromium } from "../packages/test-devices/dist/index.js";

const root = resolve(import.meta.dirname, "..");
const command = "npm start -- -n 130 --seed 20";
const run = `${process.execPath} "${join(root, "packages/cli/bin/centella.cjs")}" run -n 130 --seed 20`;
// A pseudo-terminal, because the report after the story is for terminals.
const { stdout } = spawnSync("script", ["-qec", run, "/dev/null"], { encoding: "utf8" });
// Progress is overwritten in place: what follows the last erased line is the story.
const shown = stdout.replaceAll("\r\n", "\n").split("\r\x1b[K").at(-1);
const [story, report] = shown.split(/\n(?=Fable )/).map((text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").trim());

const page = `<meta charset="utf-8"><style>
  body { margin: 0; background: #1b1d23; color: #e6e6e6; font: 15px/1.5 "DejaVu Sans Mono", monospace; padding: 20px 24px; width: 860px; }
  pre { margin: 0; font: inherit; white-space: pre-wrap; } b { color: #8fd694; font-weight: normal; } .report { color: #8a93a6; }
</style><pre><b>$</b> ${command}\n${story}\n\n<span class="report">${report}</span></pre>`;

const browser = await launchChromium();
if (typeof browser === "string") throw new Error(browser);
const tab = await browser.newPage({ viewport: { width: 908, height: 10 }, deviceScaleFactor: 1 });
await tab.setContent(page);
await tab.screenshot({ path: join(root, "docs/start.png"), fullPage: true });
await browser.close();
