import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { BackendFactory } from "@centella/core";
import { backendsWith } from "../backends.ts";
import { measureCopyRates } from "../gpu/floor.ts";
import { type GpuResult, kernelGroups, runGpu } from "../gpu/run.ts";
import { gpuTables } from "../gpu/tables.ts";
import { TorchPeer } from "../gpu/torch.ts";
import { describeCommit, describeMachine } from "../machine.ts";
import { repositoryFolder } from "../receipts/store.ts";
import { Skip } from "../runner/subject.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

const experimentalNames = ["subgroup-matrix"] as const;
const backendNames = factoriesWith([]).map(({ name }) => name);
const partNames = ["ceiling", "kernels", ...kernelGroups, "models"];

const help = `Usage: pnpm bench gpu [OPTIONS]

Measures GPUs: the driver's copies (the ceiling), then kernels, then models. Each kernel is compared with the CPU's result first, and then
timed on the device alone: many calls in one graph or pass, each on random data of its own beyond the caches. PyTorch takes turns where
python3 has it. Software GPUs get tiny sizes.

  --backend NAME  one of ${backendNames.join(", ")} (default: all that open); may be repeated
  --part NAME     one of ${partNames.join(", ")} (default: all); may be repeated; kernels are
                  all but ceiling and models
  --experimental NAME
                  use a feature of WebGPU that is no standard yet: ${experimentalNames.join(", ")}
  --minutes N     what has not started then is skipped (default: 8, so that the command ends within 9)
  --json FILE     write the results as JSON
  --help          this text

Exit code 1 if a result is wrong or a backend breaks, 2 for a wrong command line.`;

/** `pnpm bench gpu [OPTIONS]` */
export async function gpuCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    backend: { type: "string", multiple: true },
    part: { type: "string", multiple: true },
    experimental: { type: "string", multiple: true },
    minutes: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  noPositionals(positionals);
  const backends = values.backend === undefined ? backendNames : pick("--backend", values.backend, backendNames);
  const parts = values.part === undefined ? partNames : pick("--part", values.part, partNames);
  const commit = values.json === undefined ? undefined : describeCommit(repositoryFolder);
  const end = performance.now() + 60_000 * wholeNumber("--minutes", values.minutes ?? "8", 1, 60);
  const factories = factoriesWith(pick("--experimental", values.experimental ?? [], experimentalNames));
  const results = await measure(factories, backends, parts, () => performance.now() > end);
  console.log(results.map(gpuTables).join("\n\n"));
  if (values.json !== undefined) write(values.json, { date: new Date().toISOString(), commit, machine: describeMachine(), results });
  return results.some(({ kernels, models }) => [...kernels, ...models].some(({ failed }) => failed !== undefined)) ? 1 : 0;
}

/** Backends for GPUs. */
function factoriesWith(experimental: readonly (typeof experimentalNames)[number][]): readonly BackendFactory[] {
  return backendsWith(1, experimental).flatMap(({ kind, factory }) => (kind === "gpu" ? [factory] : []));
}

async function measure(
  factories: readonly BackendFactory[],
  chosen: readonly string[],
  parts: readonly string[],
  isOver: () => boolean,
): Promise<readonly GpuResult[]> {
  const groups = kernelGroups.filter((group) => parts.includes("kernels") || parts.includes(group));
  const log = (line: string): void => console.error(line);
  const peer = groups.length === 0 ? undefined : await openPeer(log);
  try {
    const copyRates = await measureCopyRates(factories);
    const hasModels = parts.includes("models");
    const results: GpuResult[] = [];
    for (const factory of factories.filter(({ name }) => chosen.includes(name)))
      results.push(await runGpu({ factory, groups, hasModels, copyRates, peer, isOver, log }));
    return results;
  } finally {
    await peer?.dispose();
  }
}

async function openPeer(log: (line: string) => void): Promise<TorchPeer | undefined> {
  try {
    const peer = await TorchPeer.open();
    log(peer.name);
    return peer;
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    log(`PyTorch: skipped: ${error.message}`);
    return undefined;
  }
}

function write(file: string, receipt: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(receipt, null, 1)}\n`);
  console.error(`written: ${file}`);
}
