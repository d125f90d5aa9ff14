import { OutOfMemoryError } from "@centella/core";
import { hostMemory } from "@centella/core/backend";
import { cacheBytes } from "../cache/cacheBytes.ts";
import { blockTokens } from "../cache/prefixCache.ts";
import type { CacheType } from "../model/modelBuilder.ts";
import type { ModelShape } from "./modelShape.ts";

/** Minimum context that "auto" chooses. A shorter one is of little use. */
const minContext = 512;
/** Share of the platform's memory that "auto" uses. The rest is for activations, code and other programs. */
const usableShare = 0.8;

/** A context length, and why it was chosen. */
export interface ChosenContext {
  readonly contextLength: number;
  readonly reason: string;
}

/** What a context length is chosen from. */
export interface ContextRequest {
  readonly wanted: number | "auto" | undefined;
  readonly config: ModelShape;
  readonly sequences: number;
  readonly cacheType: CacheType;
  readonly weightBytes: number;
  /** Maximum bytes of weights and cache together; undefined if only the platform knows. */
  readonly memoryLimit: number | undefined;
  /** Bytes of a draft model, by its context length. */
  readonly reserved?: ((contextLength: number) => number) | undefined;
}

interface AutoContextRequest extends ContextRequest {
  /** Maximum number of tokens in a sequence. */
  readonly maxLength: number;
}

/**
 * The longest context for which weights and cache fit into memory, followed by shorter ones to try if the device has less memory than
 * expected.
 * @throws {OutOfMemoryError} if not even a short context fits
 */
export function autoContexts(request: AutoContextRequest): readonly ChosenContext[] {
  const first = longestThatFits(request);
  const contexts = [first];
  let previous = first.contextLength;
  for (let length = first.contextLength / 2; length >= Math.min(minContext, request.maxLength); length /= 2) {
    const contextLength = Math.floor(length);
    contexts.push({ contextLength, reason: `auto: the device had no memory for ${previous}` });
    previous = contextLength;
  }
  return contexts;
}

function longestThatFits({
  config,
  sequences,
  cacheType,
  weightBytes,
  memoryLimit,
  reserved,
  maxLength,
}: AutoContextRequest): ChosenContext {
  const { usable, source } = memoryLimit === undefined ? usableMemory() : { usable: memoryLimit, source: "memoryLimit" };
  const requiredBytes = (length: number): number =>
    weightBytes + cacheBytes(config, cacheType, length, sequences) + (reserved?.(length) ?? 0);
  let [low, high] = [0, maxLength];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (requiredBytes(middle) <= usable) low = middle;
    else high = middle - 1;
  }
  const shortest = Math.min(minContext, maxLength);
  if (low < shortest) {
    throw new OutOfMemoryError(
      `contextLength "auto" (${source})`,
      requiredBytes(shortest),
      usable,
      'a context of a few hundred tokens does not fit; use a smaller model, fewer sequences, cacheType "q8_0" or a contextLength of your own',
    );
  }
  // Whole blocks: a partly used block takes as much memory.
  const contextLength = low === maxLength ? maxLength : Math.max(shortest, blockTokens * Math.floor(low / blockTokens));
  const choice = contextLength === config.contextLength ? "all that the model was trained on" : "the longest that fits";
  const sizes = `${mebibytes(requiredBytes(contextLength))} of weights and cache in ${mebibytes(usable)} (${source})`;
  return { contextLength, reason: `auto: ${choice}, ${sizes}` };
}

function usableMemory(): { readonly usable: number; readonly source: string } {
  const { bytes, source } = hostMemory();
  return { usable: Math.floor(bytes * usableShare), source: `${usableShare * 100} % of ${source}` };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
