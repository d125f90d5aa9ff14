import { blockLayout } from "@centella/quant";
import { callback, check, checkOptions, type Kinds, oneOf, whole } from "@centella/quant/checks";
import { GgufError } from "../errors.ts";
import { ggufFile } from "../kinds.ts";
import { shown } from "../shown.ts";
import type { GgufFile } from "./file.ts";
import { isNumericArray, type Metadata } from "./metadata.ts";
import type { TensorInfo } from "./tensorInfo.ts";

export interface EstimateOptions {
  /** Tokens of a sequence. Default: as trained. */
  readonly contextLength?: number;
  /** Sequences in the cache. Default 1. */
  readonly sequences?: number;
  /** Element type of the key-value cache. Default "f16". */
  readonly cacheType?: "f32" | "f16" | "q8_0";
  /** Bytes that a weight takes where it is computed with, if that is not as the file has it: a backend's `weightBytes`. */
  readonly weightBytes?: (tensor: TensorInfo) => number;
}

/** Bytes that a model takes where it runs; a backend's temporaries come on top. */
export interface MemoryEstimate {
  readonly contextLength: number;
  readonly sequences: number;
  /** All tensors, in their own types or as `weightBytes` counts them. */
  readonly weightBytes: number;
  /** Keys and values of every layer: `sequences · contextLength · Σ kvHeads · (keyLength + valueLength)` elements. */
  readonly cacheBytes: number;
  readonly totalBytes: number;
}

const kinds: Kinds<EstimateOptions> = {
  contextLength: whole(1),
  sequences: whole(1),
  cacheType: oneOf("f32", "f16", "q8_0"),
  weightBytes: callback,
};

/**
 * Estimates a model's memory from its header. Layers with a sliding window count in full. Layers without heads for keys and values in the
 * metadata (recurrent layers) do not count.
 * @throws {GgufError} `missing` without `block_count`, heads or `embedding_length`; `invalid` for more layers than tensors, or for counts
 *   that are not whole numbers; `range` if the bytes exceed 2^53
 * @throws {ArgumentError} for invalid options, such as sizes below 1
 */
export function estimateMemory(file: GgufFile, options: EstimateOptions = {}): MemoryEstimate {
  check("estimateMemory", "file", file, ggufFile);
  checkOptions("estimateMemory", options, kinds);
  const { metadata } = file;
  const key = (name: string): string => `${metadata.string("general.architecture")}.${name}`;
  const contextLength = options.contextLength ?? metadata.count(key("context_length"));
  const { sequences = 1, cacheType = "f16" } = options;
  for (const [name, value] of Object.entries({ contextLength, sequences })) {
    if (!Number.isSafeInteger(value) || value < 1) throw new GgufError("range", { expected: `${name} from 1`, got: String(value) });
  }
  const layers = layerCount(file, key("block_count"));
  const heads = perLayer(metadata, key("attention.head_count"), layers);
  const kvHeads = perLayer(metadata, key("attention.head_count_kv"), layers) ?? heads;
  if (heads === undefined || kvHeads === undefined) {
    throw new GgufError("missing", { expected: `a number for key '${shown(key("attention.head_count"))}'`, got: "no such key" });
  }
  const ofHead = (): number => metadata.count(key("embedding_length")) / Math.max(1, heads.most);
  const keyLength = metadata.optionalCount(key("attention.key_length")) || ofHead();
  const valueLength = metadata.optionalCount(key("attention.value_length")) || ofHead();
  const elements = kvHeads.total * (keyLength + valueLength);
  const { blockElements, blockBytes } = blockLayout(cacheType);
  // Layers that run several times have a cache for each time.
  const runs = metadata.optionalCount(key("num_loops")) || 1;
  const cacheBytes = runs * sequences * contextLength * Math.ceil(elements / blockElements) * blockBytes;
  const { weightBytes: bytesOf = ({ bytes }: TensorInfo) => bytes } = options;
  const weightBytes = file.tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  const totalBytes = weightBytes + cacheBytes;
  if (!Number.isSafeInteger(totalBytes))
    throw new GgufError("range", { expected: "fewer than 2^53 bytes of weights and cache", got: String(totalBytes) });
  return { contextLength, sequences, weightBytes, cacheBytes, totalBytes };
}

/** Each layer has at least one tensor. The number of layers is not checked in files that hold metadata only. */
function layerCount({ metadata, tensors }: GgufFile, key: string): number {
  const layers = metadata.count(key);
  if (tensors.length === 0 || layers <= tensors.length) return layers;
  throw new GgufError("invalid", {
    expected: `at most as many layers as tensors (${tensors.length}) for key '${shown(key)}'`,
    got: String(layers),
  });
}

/** Counts of all layers. */
interface LayerCounts {
  readonly most: number;
  readonly total: number;
}

/** A count for each layer: the file gives one for all of them or an array; 0 for all counts as "not set". */
function perLayer(metadata: Metadata, key: string, layers: number): LayerCounts | undefined {
  const value = metadata.get(key);
  if (!isNumericArray(value)) {
    const count = metadata.optionalCount(key);
    return count ? { most: count, total: count * layers } : undefined;
  }
  const counts = metadata.numbers(key);
  if (counts.length < layers) {
    throw new GgufError("invalid", { expected: `${layers} elements of '${shown(key)}'`, got: String(counts.length) });
  }
  let [most, total] = [0, 0];
  for (const [layer, count] of Array.from(counts).slice(0, layers).entries()) {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new GgufError("invalid", { expected: `whole numbers >= 0 in '${shown(key)}'`, got: `${count} for layer ${layer}` });
    }
    most = Math.max(most, count);
    total += count;
  }
  return { most, total };
}
