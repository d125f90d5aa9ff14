import { blockLayout } from "@centella/quant";
import { GgufError } from "./errors.ts";
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

/**
 * Memory of a model from its header alone. Layers with a sliding window are counted in full; layers that the metadata gives no heads for
 * keys and values (recurrent ones) as nothing.
 * @throws {GgufError} `missing` without `block_count`, heads or `embedding_length`; `range` for sizes below 1
 */
export function estimateMemory(file: GgufFile, options: EstimateOptions = {}): MemoryEstimate {
  const { metadata } = file;
  const key = (name: string): string => `${metadata.string("general.architecture")}.${name}`;
  const contextLength = options.contextLength ?? metadata.count(key("context_length"));
  const { sequences = 1, cacheType = "f16" } = options;
  for (const [name, value] of Object.entries({ contextLength, sequences })) {
    if (!Number.isSafeInteger(value) || value < 1) throw new GgufError("range", { expected: `${name} from 1`, got: String(value) });
  }
  if (cacheType !== "f16" && cacheType !== "f32" && cacheType !== "q8_0")
    throw new GgufError("range", { expected: "cacheType f16, f32 or q8_0", got: String(cacheType) });
  const layers = metadata.count(key("block_count"));
  const heads = perLayer(metadata, key("attention.head_count"), layers);
  const kvHeads = perLayer(metadata, key("attention.head_count_kv"), layers) ?? heads;
  if (heads === undefined || kvHeads === undefined) {
    throw new GgufError("missing", { expected: `a number for key '${key("attention.head_count")}'`, got: "no such key" });
  }
  const ofHead = (): number => metadata.count(key("embedding_length")) / Math.max(1, ...heads);
  const keyLength = metadata.optionalCount(key("attention.key_length")) || ofHead();
  const valueLength = metadata.optionalCount(key("attention.value_length")) || ofHead();
  const elements = kvHeads.reduce((sum, count) => sum + count, 0) * (keyLength + valueLength);
  const { blockElements, blockBytes } = blockLayout(cacheType);
  const cacheBytes = sequences * contextLength * Math.ceil(elements / blockElements) * blockBytes;
  const { weightBytes: bytesOf = ({ bytes }: TensorInfo) => bytes } = options;
  const weightBytes = file.tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  return { contextLength, sequences, weightBytes, cacheBytes, totalBytes: weightBytes + cacheBytes };
}

/** A count for each layer: the file gives one for all of them or an array; 0 for all counts as "not set". */
function perLayer(metadata: Metadata, key: string, layers: number): readonly number[] | undefined {
  const value = metadata.get(key);
  if (isNumericArray(value)) {
    const counts = Array.from(metadata.numbers(key));
    if (counts.length >= layers) return counts.slice(0, layers);
    throw new GgufError("invalid", { expected: `${layers} elements of '${key}'`, got: String(counts.length) });
  }
  const count = metadata.optionalCount(key);
  return count ? new Array<number>(layers).fill(count) : undefined;
}
