import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { fable } from "@centella/model-fable";
import { elementAt } from "@centella/quant/checks";
import { backendsWith } from "../backends.ts";
import { peers } from "../peers/index.ts";
import type { Receipt } from "../receipts/receipt.ts";
import { readReceipts, writeReceipts } from "../receipts/store.ts";
import { run } from "../run.ts";
import type { Progress } from "../runner/measure.ts";
import { suites } from "../suites/index.ts";
import { baselineTable, ceilingLines, llamaBenchShape, receiptTable } from "../tables.ts";
import { UsageError } from "../usageError.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

const backends = backendsWith(1);
const backendNames = backends.map(({ factory }) => factory.name);
const suiteNames = suites.map(({ name }) => name);
const peerNames = peers.map(({ name }) => name);
const defaultBackends = backends.filter(({ isOptional }) => isOptional !== true).map(({ factory }) => factory.name);

const help = `Usage: pnpm bench [OPTIONS]
       pnpm bench gpu --help       measure kernels and models on GPUs
       pnpm bench browser --help   measure WebGPU in Chromium
       pnpm bench model --help     generate a model file with random weights
       pnpm bench peers install    install the other projects that --peers compares with
       pnpm bench pages --help     measure models in Chromium and Firefox
       pnpm bench calibrate --help find the crossovers between the backends of this machine
       pnpm bench server --help    measure centella serve, or load it for a long time
       pnpm bench check [FILE…]    recompute committed receipts, or the given ones
       pnpm bench budgets          hold ratios, counts and sizes to the bars of budgets.json
       pnpm bench docs [--check]   write the tables of README and docs from the receipts
       pnpm bench report [--check] write docs/benchmarks.html, plots of all receipts

Measures this machine's ceilings, then every suite: ours and peers in turn, medians with 95 % bootstrap intervals.

  --suite NAME      one of ${suiteNames.join(", ")} (default: all); may be repeated
  --backend NAME    one of ${backendNames.join(", ")} (default: ${defaultBackends.join(", ")}, as far as they open)
  --peers           compare with every peer that is installed: ${peerNames.join(", ")}
  --peer NAME       compare with this one alone; may be repeated
  --model FILE      a GGUF file for the suites generate, latency and load (default: the embedded model); may be repeated
  --threads N       threads of ours, of peers and of the ceilings (default: all cores)
  --quick           fewer sizes and samples: two minutes
  --json PATH       write the receipts: to PATH if it ends in .json, else to PATH/<machine>/<date>-<suite>.json
  --baseline FILE   compare with receipts of another run
  --help            this text

Exit code 1 if a result is wrong or a backend breaks, 2 for a wrong command line.`;

/** `pnpm bench [OPTIONS]` */
export async function benchCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    suite: { type: "string", multiple: true },
    backend: { type: "string", multiple: true },
    peers: { type: "boolean" },
    peer: { type: "string", multiple: true },
    model: { type: "string", multiple: true },
    threads: { type: "string" },
    quick: { type: "boolean" },
    json: { type: "string" },
    baseline: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const chosen = values.suite === undefined ? suiteNames : pick("--suite", values.suite, suiteNames);
  const models = values.model ?? [fileURLToPath(fable)];
  for (const file of models) if (!existsSync(file)) throw new UsageError(`--model: expected a GGUF file, got no file at ${file}`);
  const baseline = values.baseline === undefined ? [] : readReceipts(values.baseline);
  const receipts = await run({
    suites: suites.filter(({ name }) => chosen.includes(name)),
    backends: values.backend === undefined ? undefined : pick("--backend", values.backend, backendNames),
    peers: values.peer === undefined ? (values.peers === true ? peerNames : []) : pick("--peer", values.peer, peerNames),
    models,
    threads: values.threads === undefined ? availableParallelism() : wholeNumber("--threads", values.threads, 1, availableParallelism()),
    quick: values.quick === true,
    command: ["pnpm bench", ...args].join(" "),
    log: (line) => console.error(line),
    progress,
  });
  console.log(ceilingLines(elementAt(receipts, 0).ceilings).join("\n"));
  for (const receipt of receipts) {
    console.log(`\n${receiptTable(receipt)}`);
    if (receipt.suite === "generate") console.log(`\n${llamaBenchShape(receipt)}`);
    const before = baseline.find(({ suite }) => suite === receipt.suite);
    if (before !== undefined) console.log(`\n${baselineTable(receipt, before)}`);
  }
  if (values.json !== undefined) console.error(`written: ${writeReceipts(values.json, receipts).join(", ")}`);
  return conclude(receipts);
}

function conclude(receipts: readonly Receipt[]): number {
  const failures = receipts.flatMap(({ suite, rows }) =>
    rows.flatMap(({ id, subjects }) =>
      subjects.flatMap(({ name, failed }) => (failed === undefined ? [] : [`${suite} ${id}, ${name}: ${failed}`])),
    ),
  );
  for (const failure of failures) console.error(`bench: ${failure}`);
  const measured = receipts.some(({ rows }) => rows.some(({ subjects }) => subjects.some(({ samples }) => samples !== undefined)));
  if (!measured) console.error("bench: expected at least one measured row, got none; see the reasons above");
  return failures.length > 0 || !measured ? 1 : 0;
}

/** One line that is overwritten on a terminal; elsewhere a line per tenth. */
const progress: Progress = (done, total, { id }) => {
  const percent = Math.floor((100 * done) / total);
  if (process.stderr.isTTY) process.stderr.write(done === total - 1 ? "\r\x1b[K" : `\r\x1b[K${percent} % ${id}`);
  else if (done % Math.ceil(total / 10) === 0) console.error(`${percent} %`);
};
