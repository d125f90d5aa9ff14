import { mkdirSync, writeFileSync } from "node:fs";
import { isRequired, launchChromium } from "@centella/test-devices";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FreshApps } from "./freshApps.ts";
import { runExample, startExample } from "./runExample.ts";
import { tellByEngine } from "./tellByEngine.ts";

describe("with the packed tarballs, as if they were published", () => {
  let apps: FreshApps;

  beforeAll(() => {
    apps = new FreshApps(["vite-react", "next-chat", "electron"]);
  });

  afterAll(() => apps[Symbol.dispose]());

  test("Vite builds a page without warnings", async () => {
    await runExample(`${apps.folder}/vite-react`, ["vite", "build"], { allowed: /.*PLUGIN_TIMINGS.*\n(.+\n)*/ });
  });

  test("Next builds an app without warnings, and both of its chats answer", async ({ skip }) => {
    const app = `${apps.folder}/next-chat`;
    const printed = await runExample(app, ["next", "build"]);
    // A fresh folder has no cache, which Next minds where CI is set.
    expect(printed.replace("⚠ No build cache found", "")).not.toMatch(/warn|⚠/i);
    await using server = await startExample(app, ["next", "start"]);
    const browser = await launchChromium();
    if (typeof browser === "string") {
      if (isRequired("webgpu")) throw new Error(browser);
      return skip(browser);
    }
    const page = await browser.newPage();
    await page.goto(server.url);
    for (const [name, state] of [
      ["On the server", /^ready$/],
      ["In this page", /^ready wasm$/],
    ] as const) {
      const chat = page.getByRole("region", { name });
      await chat.getByRole("button", { name: "Send" }).click();
      const answer = chat.getByRole("paragraph").filter({ hasText: "assistant" });
      await expect.poll(() => answer.textContent()).toMatch(/assistant .{50}/s);
      await chat.getByRole("status").filter({ hasText: state }).waitFor();
    }
    await browser.close();
  });

  test("electron-builder packages an app whose engine runs outside of the archive", async () => {
    const app = `${apps.folder}/electron`;
    // In place of Electron's own files, which are downloaded from GitHub.
    mkdirSync(`${app}/standIn/resources`, { recursive: true });
    for (const name of ["electron", "version", "LICENSE", "LICENSES.chromium.html"]) writeFileSync(`${app}/standIn/${name}`, "");
    const printed = await runExample(app, ["electron-builder", "--linux", "dir", "-c.electronDist=standIn"]);
    expect(printed).not.toMatch(/warn|not recommended/i);
    await tellByEngine(`${app}/dist/linux-unpacked/resources/app.asar.unpacked/src/engine.js`);
  });
});
