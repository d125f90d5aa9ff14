import { browserReceipt } from "../browser/receipt.ts";
import { type BrowserResult, isWrong, projectNames } from "../browser/run.ts";
import type { BrowserTask } from "../browser/tasks.ts";
import { receiptHead } from "../receipts/head.ts";
import { writeReceipts } from "../receipts/store.ts";
import { Skip } from "../runner/subject.ts";
import { median } from "../stats/bootstrap.ts";
import { formatTable } from "../table.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

/** The first one is for software GPUs, which take seconds for the others. */
const sizes = [64, 256, 512, 1024, 2048, 4096];
const kinds = ["matmul", "softmax", "conv2d", "chain"] as const;

const help = `Usage: pnpm bench browser [OPTIONS]

Measures WebGPU in one page of Chromium, or in one process of Node: matmul, softmax, conv2d and a chain of elementwise ops, by this project, TensorFlow.js and
ONNX Runtime, in turn. Operands and results stay on the device. Results are compared with f64 at some places.

  --chromium PATH  a Chromium that has a GPU (default: one on SwiftShader, a GPU in software)
  --node           in this process, on Dawn, in place of a page
  --size N         one of ${sizes.join(", ")} (default: all from 256 on with --chromium or --node, else 64);
                   may be repeated
  --project NAME   one of ${projectNames.join(", ")} (default: all that are installed); may be repeated
  --samples N      of each project (default: 15; a receipt needs 10)
  --json PATH      write a receipt: to PATH if it ends in .json, else into PATH/<machine>, as
                   <date>-browser.json, or <date>-dawn.json with --node
  --help           this text

Exit code 1 if a result is wrong, 2 for a wrong command line.`;

/** `pnpm bench browser [OPTIONS]` */
export async function browserCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    chromium: { type: "string" },
    node: { type: "boolean" },
    size: { type: "string", multiple: true },
    project: { type: "string", multiple: true },
    samples: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const samples = wholeNumber("--samples", values.samples ?? "15", 1, 1000);
  const { chromium, node = false } = values;
  if (node && chromium !== undefined) throw new UsageError("--node: expected no --chromium beside it, got both; leave one out");
  const chosen = values.size?.map(sizeOf) ?? (chromium === undefined && !node ? sizes.slice(0, 1) : sizes.slice(1));
  const projects = values.project === undefined ? projectNames : pick("--project", values.project, projectNames);
  const tasks = kinds.flatMap((kind) => chosen.map((n): BrowserTask => ({ kind, n })));
  const run = { tasks, projects, sampling: { samples, seconds: 0.1 }, log: (line: string) => console.error(line) };
  const command = ["pnpm bench browser", ...args].join(" ");
  const head = values.json === undefined ? undefined : receiptHead(node ? "dawn" : "browser", command);
  const result = await measured(async () => {
    // Loaded when called: a bare GPU machine has no Chromium and no bundler.
    if (node) return (await import("../browser/inNode.ts")).runInNode(run);
    return (await import("../browser/inChromium.ts")).runInChromium(chromium, run);
  });
  if (result === undefined) return 0;
  console.log(tableOf(result));
  if (values.json !== undefined && head !== undefined)
    console.error(`written: ${writeReceipts(values.json, [browserReceipt(head, result)]).join(", ")}`);
  return result.tasks.some(({ results }) => Object.values(results).some(isWrong)) ? 1 : 0;
}

/** The results, or undefined where the browser does not start or Node has no adapter. */
async function measured(run: () => Promise<BrowserResult>): Promise<BrowserResult | undefined> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    console.error(`skipped: ${error.message}`);
    return undefined;
  }
}

function sizeOf(text: string): number {
  const size = sizes.find((each) => String(each) === text);
  if (size === undefined) throw new UsageError(`--size: expected one of ${sizes.join(", ")}, got ${text}`);
  return size;
}

type Result = BrowserResult["tasks"][number]["results"][string];

/** A line per task: milliseconds of a call, and the peers' times over ours. */
function tableOf({ adapter, tasks }: BrowserResult): string {
  const head = ["task", ...projectNames.map((name) => `${name} ms`), ...projectNames.slice(1).map((name) => `of ${name}`)];
  const lines = tasks.map(({ name, results }) => {
    const times = projectNames.map((project) => timeOf(results[project]));
    const [ours, ...theirs] = times;
    const ratios = theirs.map((time) => (typeof ours === "number" && typeof time === "number" ? `${(time / ours).toFixed(2)}×` : "–"));
    return [name, ...times.map((time) => (typeof time === "number" ? (1e3 * time).toFixed(3) : time)), ...ratios];
  });
  return `${adapter}\n\n${formatTable(head, lines, ["left", ...projectNames.map(() => "right" as const), "right", "right"])}`;
}

/** Median seconds, or what happened instead. */
function timeOf(result: Result | undefined): number | string {
  if (result === undefined) return "–";
  if (result.failed !== undefined) return `FAILED: ${result.failed}`;
  if (isWrong(result)) return `WRONG: error ${result.error?.toPrecision(2)}`;
  return median(result.seconds ?? []);
}
