import type { Backend, Runtime } from "@centella/core";
import { byteLength, maxSpec } from "@centella/core/backend";
import type { RecordedModel } from "../model/recordModel.ts";
import { splitAt } from "./layersOnGpu.ts";
import { defaultBatchSize, type ModelPlace } from "./modelPlace.ts";
import type { ModelPart } from "./weights.ts";

export { splitLayers } from "./layersOnGpu.ts";

/** Share of the device's free memory that weights and cache may take. The rest is for activations, compiled kernels and other programs. */
const usableShare = 0.85;

/** Maximum number of prompt tokens per run on a GPU whose backend prefers none. */
const gpuBatchSize = 2048;

/** Keeps as many of the last layers on a GPU as its memory can hold, then the output, then the embeddings. The rest goes to the CPU. */
export function fitLayers(runtime: Runtime, gpu: Backend, recorded: RecordedModel, layers: number, reservedBytes: number): ModelPlace {
  const { free, largestTensor = Number.POSITIVE_INFINITY } = gpu.deviceMemory?.() ?? {};
  const usable = free === undefined ? Number.POSITIVE_INFINITY : free * usableShare - reservedBytes;
  const sizes = partSizes(runtime, gpu, recorded);
  const order: readonly ModelPart[] = [...Array.from({ length: layers }, (_, i) => layers - 1 - i), "output", "input"];
  let used = sizes.get("shared")?.bytes ?? 0;
  let count = 0;
  for (const part of order) {
    const { bytes, largest } = sizes.get(part) ?? { bytes: 0, largest: 0 };
    if (used + bytes > usable || largest > largestTensor) break;
    used += bytes;
    count++;
  }
  const whole = { backend: gpu, split: undefined, batchSize: batchSizeFor(gpu, recorded) };
  const room = free === undefined ? "its free memory is unknown" : `${mebibytes(usable)} of its free memory can be used`;
  const why = `for ${mebibytes(used)} of weights and cache, ${room}`;
  if (count === order.length) return { ...whole, reason: `all layers on ${gpu.name}, ${why}` };
  // The scalar reference is so slow that an error for lack of memory helps more.
  const cpu = runtime.backends.find(({ device, name }) => device.kind === "cpu" && name !== "reference");
  if (cpu === undefined)
    return { ...whole, reason: `all layers on ${gpu.name}, although not all fit: no CPU backend but the reference is open` };
  const split = splitAt(cpu, gpu, count, layers, why);
  const unsupported = split.unsupported(recorded);
  if (unsupported === undefined) return { backend: cpu, split, batchSize: defaultBatchSize };
  return { ...whole, reason: `all layers on ${gpu.name}, although not all fit: ${unsupported}` };
}

/** The number of prompt tokens per run that suits a GPU: fewer than usual if a tensor of so many tokens exceeds the device's limit. */
function batchSizeFor(gpu: Backend, { program }: RecordedModel): number {
  const limit = gpu.deviceMemory?.().largestTensor ?? Number.POSITIVE_INFINITY;
  const bytesPerToken = program.values.map(({ spec }) => {
    const tokens = spec.shape.find((dim) => typeof dim !== "number" && dim.name === "T");
    return typeof tokens === "object" ? byteLength(maxSpec(spec)) / tokens.max : 0;
  });
  const most = bytesPerToken.reduce((a, b) => Math.max(a, b), 0);
  let size = gpu.preferredRows ?? gpuBatchSize;
  while (size > defaultBatchSize && size * most > limit) size /= 2;
  return size;
}

interface PartSize {
  readonly bytes: number;
  readonly largest: number;
}

/** Bytes of each part's weights, cache and states on a backend, and of the largest tensor among those that kernels read as a whole. */
function partSizes(runtime: Runtime, gpu: Backend, { program, parts, caches, states }: RecordedModel): ReadonlyMap<ModelPart, PartSize> {
  const weightBytes = runtime.candidates.find(({ backend }) => backend === gpu)?.weightBytes ?? byteLength;
  const sizes = new Map<ModelPart, PartSize>();
  for (const [name, part] of parts) {
    const spec = program.persistents.get(name)?.spec;
    if (spec === undefined) continue;
    const isWeight = !caches.has(name) && !states.has(name);
    const own = isWeight ? weightBytes(spec) : byteLength(spec);
    const atOnce = isWeight && gpu.rowsAtOnce?.(spec) !== undefined ? 0 : own;
    const { bytes, largest } = sizes.get(part) ?? { bytes: 0, largest: 0 };
    sizes.set(part, { bytes: bytes + own, largest: Math.max(largest, atOnce) });
  }
  return sizes;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
