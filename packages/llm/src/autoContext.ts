import { OutOfMemoryError } from "@centella/core";
import { blockTokens } from "./blockTree.ts";
import { type ChosenContext, type ContextWishes, cacheBytes } from "./contextSize.ts";

/** Shorter ones are of little use: "auto" rather fails. */
const shortest = 512;
/** Of the memory that is there; the rest is for activations, code and everybody else. */
const usableShare = 0.8;
/** Where nothing tells how much memory there is. */
const unknownMemory = 4 * 2 ** 30;

/** For "auto": the longest for which weights and cache fit the memory, and shorter ones. @throws {OutOfMemoryError} if none fits */
export function autoContexts(wishes: ContextWishes): readonly ChosenContext[] {
  const trained = wishes.config.contextLength;
  const first = longestThatFits(wishes);
  const contexts = [first];
  for (let length = first.contextLength / 2; length >= Math.min(shortest, trained); length /= 2) {
    const contextLength = Math.floor(length);
    contexts.push({ contextLength, reason: `auto: the device had no memory for ${contexts.at(-1)!.contextLength}` });
  }
  return contexts;
}

function longestThatFits({ config, sequences, cacheType, weightBytes, memoryLimit }: ContextWishes): ChosenContext {
  const trained = config.contextLength;
  const { bytes, source } = memoryLimit === undefined ? availableMemory() : { bytes: memoryLimit, source: "memoryLimit" };
  const usable = memoryLimit ?? Math.floor(bytes * usableShare);
  const needs = (length: number): number => weightBytes + cacheBytes(config, cacheType, length, sequences);
  let [low, high] = [0, trained];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (needs(middle) <= usable) low = middle;
    else high = middle - 1;
  }
  const least = Math.min(shortest, trained);
  if (low < least) {
    throw new OutOfMemoryError(
      `contextLength "auto" (${source})`,
      needs(least),
      usable,
      'a context of a few hundred tokens does not fit; use a smaller model, fewer sequences, cacheType "q8_0" or a contextLength of your own',
    );
  }
  // Whole blocks: a part of one takes as much.
  const contextLength = low === trained ? trained : Math.max(least, blockTokens * Math.floor(low / blockTokens));
  const what = `${mebibytes(needs(contextLength))} of weights and cache in ${mebibytes(usable)} (${source})`;
  return {
    contextLength,
    reason: `auto: ${contextLength === trained ? "all that the model was trained on" : "the longest that fits"}, ${what}`,
  };
}

interface Platform {
  readonly process?: { readonly availableMemory?: () => number };
  readonly navigator?: { readonly deviceMemory?: number };
}

/** Of Node, what is free; of a browser, half of what the device has, as far as it tells. */
function availableMemory(): { readonly bytes: number; readonly source: string } {
  const { process, navigator } = globalThis as Platform;
  const free = process?.availableMemory?.();
  if (free !== undefined && free > 0) return { bytes: free, source: `${usableShare * 100} % of the free memory` };
  const device = navigator?.deviceMemory;
  if (device !== undefined) return { bytes: (device * 2 ** 30) / 2, source: `${usableShare * 100} % of half the device's memory` };
  return { bytes: unknownMemory, source: "a guess, for the platform does not tell" };
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
