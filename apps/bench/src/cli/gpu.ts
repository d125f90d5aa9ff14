import type { BackendFactory } from "@centella/core";
import { backendsWith } from "../backends.ts";
import { type DeviceCopies, measureCopies } from "../gpu/floor.ts";
import { type ModelChoice, modelNames, modelTypes } from "../gpu/models.ts";
import { gpuReceiptRows, gpuSuite } from "../gpu/receipt.ts";
import { type GpuResult, kernelGroups, runGpu } from "../gpu/run.ts";
import { gpuTables } from "../gpu/tables.ts";
import { TorchPeer } from "../gpu/torch.ts";
import { digits } from "../receipts/derive.ts";
import { type ReceiptHead, receiptHead } from "../receipts/head.ts";
import type { Receipt } from "../receipts/receipt.ts";
import { writeReceipts } from "../receipts/store.ts";
import { Skip } from "../runner/subject.ts";
import { noPositionals, parse, pick, wholeNumber } from "./options.ts";

const experimentalNames = ["subgroup-matrix"] as const;
const backendNames = factoriesWith([]).map(({ name }) => name);
const partNames = ["ceiling", "kernels", ...kernelGroups, "layer", "host", "models"];

const help = `Usage: pnpm bench gpu [OPTIONS]

Measures GPUs: the driver's copies (the ceiling), then kernels, calls from the host, and models. Each kernel is compared with the
CPU's result first, and then timed on the device alone: many calls in one graph or pass, each on weights of its own beyond the caches.
A whole layer of a model is compared with the CPU's, too, which takes some 10 seconds. PyTorch takes turns where python3 has it. Software GPUs get tiny sizes.

  --backend NAME  one of ${backendNames.join(", ")} (default: all that open); may be repeated
  --part NAME     one of ${partNames.join(", ")} (default: all); may be repeated; kernels are
                  products, memory, convolution, attention and sampling
  --model NAME    of the models, ${modelNames.join(" or ")} (default: both); may be repeated
  --type NAME     of their weights, one of ${modelTypes.join(", ")} (default: Q4_K_M); may be repeated
  --streams N     texts that a model generates at once (default: 8); may be repeated: 2,8,16,64
  --experimental NAME
                  use a feature of WebGPU that is no standard yet: ${experimentalNames.join(", ")}
  --minutes N     what has not started then is skipped (default: 8, so that the command ends within 9)
  --samples N     of each kernel and of each test of a model (default: 10, which a receipt needs)
  --json PATH     write a receipt: to PATH if it ends in .json, else to PATH/<machine>/<date>-gpu.json
  --help          this text

Exit code 1 if a result is wrong or a backend breaks, 2 for a wrong command line.`;

/** `pnpm bench gpu [OPTIONS]` */
export async function gpuCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, {
    backend: { type: "string", multiple: true },
    part: { type: "string", multiple: true },
    model: { type: "string", multiple: true },
    type: { type: "string", multiple: true },
    streams: { type: "string", multiple: true },
    experimental: { type: "string", multiple: true },
    minutes: { type: "string" },
    samples: { type: "string" },
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
  const models = {
    names: values.model === undefined ? modelNames : pick("--model", values.model, modelNames),
    types: pick("--type", values.type ?? ["Q4_K_M"], modelTypes),
    streams: (values.streams ?? ["8"]).flatMap((text) => text.split(",")).map((text) => wholeNumber("--streams", text, 1, 256)),
  };
  const head = values.json === undefined ? undefined : receiptHead(gpuSuite, ["pnpm bench gpu", ...args].join(" "));
  const samples = wholeNumber("--samples", values.samples ?? "10", 2, 1000);
  const end = performance.now() + 60_000 * wholeNumber("--minutes", values.minutes ?? "8", 1, 60);
  const factories = factoriesWith(pick("--experimental", values.experimental ?? [], experimentalNames));
  const { results, ...measured } = await measure(factories, { backends, parts, models, samples }, () => performance.now() > end);
  console.log(results.map(gpuTables).join("\n\n"));
  const rows = gpuReceiptRows(results);
  if (values.json !== undefined && head !== undefined) {
    const receipt = receiptOf(head, rows, { results, ...measured });
    console.error(`written: ${writeReceipts(values.json, [receipt]).join(", ")}`);
  }
  return rows.some(({ subjects }) => subjects.some(({ failed }) => failed !== undefined)) ? 1 : 0;
}

function receiptOf(head: ReceiptHead, rows: Receipt["rows"], { results, copies, peer }: Measured): Receipt {
  const [peerName, peerVersion] = peer?.split(" ") ?? [];
  return {
    ...head,
    versions: {
      node: process.versions.node,
      v8: process.versions.v8,
      ...(peerName !== undefined && peerVersion !== undefined && { [peerName]: peerVersion }),
    },
    devices: Object.fromEntries(results.flatMap(({ backend, device }) => (device === undefined ? [] : [[backend, device]]))),
    ceilings: [...copies.values()].map((ceiling) => ({ ...ceiling, samples: ceiling.samples.map((pass) => pass.map(digits)) })),
    rows,
  };
}

/** Backends for GPUs. */
function factoriesWith(experimental: readonly (typeof experimentalNames)[number][]): readonly BackendFactory[] {
  return backendsWith(1, experimental).flatMap(({ kind, factory }) => (kind === "gpu" ? [factory] : []));
}

/** Results of all backends, and what they are compared with. */
interface Measured {
  readonly results: readonly GpuResult[];
  readonly copies: DeviceCopies;
  /** Name and version of the peer. */
  readonly peer: string | undefined;
}

interface Choice {
  readonly backends: readonly string[];
  readonly parts: readonly string[];
  readonly models: ModelChoice;
  readonly samples: number;
}

async function measure(
  factories: readonly BackendFactory[],
  { backends, parts, models, samples }: Choice,
  isOver: () => boolean,
): Promise<Measured> {
  const groups = kernelGroups.filter((group) => parts.includes("kernels") || parts.includes(group));
  const log = (line: string): void => console.error(line);
  const peer = groups.length === 0 ? undefined : await openPeer(log);
  try {
    const copies = await measureCopies(factories);
    const results: GpuResult[] = [];
    const chosen = {
      groups,
      hasLayer: parts.includes("layer"),
      hasHost: parts.includes("host"),
      models: parts.includes("models") ? models : undefined,
    };
    for (const factory of factories.filter(({ name }) => backends.includes(name)))
      results.push(await runGpu({ ...chosen, factory, samples, copies, peer, isOver, log }));
    return { results, copies, peer: peer?.name };
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
