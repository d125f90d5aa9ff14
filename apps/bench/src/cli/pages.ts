import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { fable } from "@centella/model-fable";
import { launchChromium, launchFirefox } from "@centella/test-devices";
import { pageRows } from "../pages/rows.ts";
import type { Browser, PageProject } from "../pages/site.ts";
import { peerVersion } from "../peers/load.ts";
import { deriveRow } from "../receipts/derive.ts";
import { receiptHead } from "../receipts/head.ts";
import type { Receipt } from "../receipts/receipt.ts";
import { receiptRow } from "../receipts/receiptRow.ts";
import { writeReceipts } from "../receipts/store.ts";
import { measureRows, type Settings } from "../runner/measure.ts";
import { Skip } from "../runner/subject.ts";
import { receiptTable } from "../tables.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

const launchers = { chromium: launchChromium, firefox: launchFirefox } as const;
type BrowserName = keyof typeof launchers;
const names = Object.keys(launchers) as readonly BrowserName[];

const help = `Usage: pnpm bench pages [OPTIONS]

Measures models in headless browsers, Centella and wllama in turn: prompts (pp128), decoding (tg32), and first visits, from the start of loading
until a prompt can be sent and until the first token. On one thread, and on all cores in a page that is cross-origin isolated.

  --browser NAME  one of ${names.join(", ")} (default: all that run here); may be repeated
  --model FILE    a GGUF file (default: the embedded model); may be repeated
  --threads N     threads of the isolated page (default: all cores)
  --quick         3 samples of each figure in place of the 10 of a receipt, for models that take wllama minutes
  --visits        only first visits
  --json PATH     write a receipt per browser, as pnpm bench does
  --help          this text`;

/** Pages have clocks of 1 ms where they are not isolated, so a sample is longer than elsewhere. */
const normal: Settings = { passes: 5, rounds: 2, sampleSeconds: 0.1, warmupSeconds: 0.1, warmupCalls: 2 };
const quick: Settings = { ...normal, passes: 3, rounds: 1, warmupCalls: 1 };

/** `pnpm bench pages [OPTIONS]` */
export async function pagesCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    browser: { type: "string", multiple: true },
    model: { type: "string", multiple: true },
    threads: { type: "string" },
    quick: { type: "boolean" },
    visits: { type: "boolean" },
    json: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const models = values.model ?? [fileURLToPath(fable)];
  for (const file of models) if (!existsSync(file)) throw new UsageError(`--model: expected a GGUF file, got no file at ${file}`);
  const cores = availableParallelism();
  const threads = values.threads === undefined ? cores : wholeNumber("--threads", values.threads, 1, cores);
  const threadCounts = [...new Set([1, threads])];
  const command = ["pnpm bench pages", ...args].join(" ");
  const settings = values.quick === true ? quick : normal;
  const receipts: Receipt[] = [];
  for (const name of values.browser === undefined ? names : pick("--browser", values.browser, names)) {
    const browser = await launchers[name]();
    if (typeof browser === "string") {
      console.error(`${name}: skipped: ${browser}`);
      continue;
    }
    try {
      const receipt = await measureBrowser(pagesSuite(name, values.model), name, browser, {
        models,
        threadCounts,
        settings,
        command,
        onlyVisits: values.visits === true,
      });
      receipts.push(receipt);
      console.log(`\n${receiptTable(receipt)}`);
    } finally {
      await browser.close();
    }
  }
  if (values.json !== undefined && receipts.length > 0) console.error(`written: ${writeReceipts(values.json, receipts).join(", ")}`);
  const isWhole =
    receipts.length > 0 && receipts.every(({ rows }) => rows.every(({ subjects }) => subjects.every(({ failed }) => failed === undefined)));
  return isWhole ? 0 : 1;
}

/** What to measure in each browser. */
interface Plan {
  readonly models: readonly string[];
  readonly threadCounts: readonly number[];
  readonly settings: Settings;
  readonly onlyVisits: boolean;
  readonly command: string;
}

/** Name of a browser's suite. Models other than the embedded one are part of it, so that each has receipts of its own. */
export function pagesSuite(browser: string, models: readonly string[] = []): string {
  return [
    browser,
    ...models.map((file) =>
      basename(file, ".gguf")
        .toLowerCase()
        .replaceAll(/[^\w.]+/g, "-"),
    ),
  ].join("-");
}

async function measureBrowser(
  suite: string,
  name: BrowserName,
  browser: Browser,
  { models, threadCounts, settings, onlyVisits, command }: Plan,
): Promise<Receipt> {
  const head = receiptHead(suite, command);
  const peer = installedPeer();
  const projects: readonly PageProject[] = peer === undefined ? ["centella"] : ["centella", "wllama"];
  await using measured = await pageRows(browser, projects, models, threadCounts);
  // First visits are the cold rows.
  const wanted = onlyVisits ? measured.rows.filter(({ isCold }) => isCold) : measured.rows;
  const rows = await measureRows(wanted, settings, (done, total, { id }) => console.error(`${done}/${total} ${name}: ${id}`));
  return {
    ...head,
    versions: { [name]: browser.version(), ...(peer !== undefined && { wllama: peer }) },
    devices: {},
    ceilings: [],
    rows: rows.map((row) => deriveRow(suite, receiptRow(row, "cpu"))),
  };
}

function installedPeer(): string | undefined {
  try {
    return peerVersion("@wllama/wllama");
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    console.error(`wllama: skipped: ${error.message}`);
    return undefined;
  }
}
