import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchChromium } from "@centella/test-devices";
import { describeMachine } from "../machine.ts";
import { generateModel } from "../model/generate.ts";
import { type FirstVisit, visitFirst } from "../page/firstToken.ts";
import type { Line } from "../page/host.ts";
import { loadLarge } from "../page/largeModel.ts";
import { scorePages } from "../page/lighthouse.ts";
import { buildPlayground } from "../page/site.ts";
import { Skip } from "../runner/subject.ts";
import { median } from "../stats/bootstrap.ts";
import { formatTable } from "../table.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, wholeNumber } from "./options.ts";

const help = `Usage: pnpm bench page [OPTIONS]

Measures the playground in Chromium: the first token of a first visit over a cable (100 Mbit/s, 20 ms), and a
model of 1 GB: what is downloaded again after its tab was closed at half, and the memory of loading it, over a
faster cable (200 Mbit/s, 20 ms) or a line without limits. Linux only. Then Lighthouse's scores of each page, if it is
installed (pnpm bench peers install).

  --rounds N     first visits of each kind (default: 5); 0 leaves them out
  --model FILE   the large model (default: one with random weights is written to the folder of temporary files)
  --context N    its context (default: 512)
  --unlimited    the large model comes over a line without limits
  --no-large     leave the large model out
  --lighthouse N runs of Lighthouse for each page, on a phone and a desktop (default: 1); 0 leaves them out
  --help         this text`;

const cable: Line = { bytesPerSecond: 12.5e6, delayMs: 20 };
const fastCable: Line = { bytesPerSecond: 25e6, delayMs: 20 };
const unlimited: Line = { bytesPerSecond: Number.POSITIVE_INFINITY, delayMs: 0 };

type Row = readonly [figure: string, value: string];

/** `pnpm bench page [--rounds N] [--model FILE] [--context N] [--unlimited] [--no-large] [--lighthouse N]` */
export async function pageCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    rounds: { type: "string" },
    model: { type: "string" },
    context: { type: "string" },
    unlimited: { type: "boolean" },
    "no-large": { type: "boolean" },
    lighthouse: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const { rounds = "5", context = "512", lighthouse = "1" } = values;
  using site = await buildPlayground();
  const rows = await firstVisits(site.folder, wholeNumber("--rounds", rounds, 0, 100));
  if (values["no-large"] !== true) {
    const line = values.unlimited === true ? unlimited : fastCable;
    rows.push(...(await largeModel(site.folder, line, values.model, wholeNumber("--context", context, 1, 131072))));
  }
  rows.push(...(await scores(site.folder, wholeNumber("--lighthouse", lighthouse, 0, 100))));
  const { cpu, cores } = describeMachine();
  console.log(`${cpu}, ${cores} cores\n`);
  console.log(formatTable(["Figure", "Value"], rows, ["left", "right"]));
  return 0;
}

/** Visits of pages with and without threads take turns. */
async function firstVisits(folder: string, rounds: number): Promise<Row[]> {
  const browser = await launchChromium();
  if (typeof browser === "string") throw new UsageError(browser);
  const kinds = [
    { name: "one thread", isIsolated: false, visits: [] as FirstVisit[] },
    { name: "isolated, with threads", isIsolated: true, visits: [] as FirstVisit[] },
  ];
  try {
    for (let round = 0; round < rounds; round++) {
      for (const { isIsolated, visits } of kinds) visits.push(await visitFirst(browser, { folder, line: cable, isIsolated }));
    }
  } finally {
    await browser.close();
  }
  const steps = {
    usableMs: "usable",
    downloadMs: "download begins",
    loadMs: "downloaded",
    readyMs: "loaded",
    tokenMs: "first token",
  } as const;
  return kinds
    .filter(({ visits }) => visits.length > 0)
    .flatMap(({ name, visits }) =>
      Object.entries(steps).map(([step, label]): Row => {
        const times = visits.map((visit) => visit[step as keyof FirstVisit]);
        const shown = [median(times), Math.min(...times), Math.max(...times)].map((ms) => (ms / 1000).toFixed(2));
        return [`first visit, ${name}: ${label}`, `${shown[0]} s [${shown[1]}–${shown[2]}]`];
      }),
    );
}

/** The pages of the app, as Lighthouse sees them. */
async function scores(folder: string, runs: number): Promise<readonly Row[]> {
  if (runs === 0) return [];
  const pages = ["chat", "structured", "tools", "tokens", "embed", "models", "bench", "about"].map((page) => `#/${page}`);
  try {
    const scored = await scorePages({ folder, line: unlimited, isIsolated: false }, pages, runs);
    return scored.map(({ page, preset, performance, accessibility }) => [
      `Lighthouse, ${page}, ${preset}: performance, accessibility`,
      `${performance}, ${accessibility}`,
    ]);
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    console.error(`Lighthouse: skipped: ${error.message}`);
    return [];
  }
}

async function largeModel(folder: string, line: Line, given: string | undefined, contextLength: number): Promise<readonly Row[]> {
  const own = mkdtempSync(join(tmpdir(), "large-model-"));
  try {
    const model = given ?? join(own, "1gb.gguf");
    if (given === undefined) await generateModel({ shape: "llama-3.2-1b", type: "Q8_0", layers: 11, seed: 1, out: model });
    const { fileBytes, againBytes, downloadPeakBytes, loadPeakBytes } = await loadLarge(folder, line, model, contextLength);
    const share = (bytes: number): string => `${(bytes / fileBytes).toFixed(2)} × file`;
    return [
      [
        `model of ${(fileBytes / 1e9).toFixed(2)} GB: downloaded again after its tab was closed at half`,
        `${(againBytes / 1e6).toFixed(1)} MB`,
      ],
      ["its peak memory while it is downloaded and loaded", share(downloadPeakBytes)],
      ["its peak memory while the stored file is loaded", share(loadPeakBytes)],
    ];
  } finally {
    rmSync(own, { recursive: true });
  }
}
