import { OutOfMemoryError } from "@centella/core";
import { hostMemory } from "@centella/core/backend";
import { blockTokens } from "../cache/prefixCache.ts";
import { type ChosenContext, type ContextRequest, cacheBytes } from "./contextRequest.ts";

/** Shorter ones are of little use: "auto" rather fails. */
const shortest = 512;
/** Of the memory that is there; the rest is for activations, code and everybody else. */
const usableShare = 0.8;

/** What "auto" chooses by. */
interface AutoContextRequest extends ContextRequest {
  /** Tokens of a sequence, at most. */
  readonly longest: number;
}

/** For "auto": the longest for which weights and cache fit the memory, and shorter ones. @throws {OutOfMemoryError} if none fits */
export function autoContexts(wishes: AutoContextRequest): readonly ChosenContext[] {
  const first = longestThatFits(wishes);
  const contexts = [first];
  for (let length = first.contextLength / 2; length >= Math.min(shortest, wishes.longest); length /= 2) {
    const contextLength = Math.floor(length);
    contexts.push({ contextLength, reason: `auto: the device had no memory for ${contexts.at(-1)!.contextLength}` });
  }
  return contexts;
}

function longestThatFits({ config, sequences, cacheType, weightBytes, memoryLimit, longest }: AutoContextRequest): ChosenContext {
  const { usable, source } = memoryLimit === undefined ? usableMemory() : { usable: memoryLimit, source: "memoryLimit" };
  const needs = (length: number): number => weightBytes + cacheBytes(config, cacheType, length, sequences);
  let [low, high] = [0, longest];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (needs(middle) <= usable) low = middle;
    else high = middle - 1;
  }
  const least = Math.min(shortest, longest);
  if (low < least) {
    throw new OutOfMemoryError(
      `contextLength "auto" (${source})`,
      needs(least),
      usable,
      'a context of a few hundred tokens does not fit; use a smaller model, fewer sequences, cacheType "q8_0" or a contextLength of your own',
    );
  }
  // Whole blocks: a part of one takes as much.
  const contextLength = low === longest ? longest : Math.max(least, blockTokens * Math.floor(low / blockTokens));
  const what = `${mebibytes(needs(contextLength))} of weights and cache in ${mebibytes(usable)} (${source})`;
  return {
    contextLength,
    reason: `auto: ${contextLength === config.contextLength ? "all that the model was trained on" : "the longest that fits"}, ${what}`,
  };
}

function usableMemory(): { readonly usable: number; readonly source: string } {
  const { bytes, source } = hostMemory();
  return { usable: Math.floor(bytes * usableShare), source: `${usableShare * 100} % of ${source}` };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
