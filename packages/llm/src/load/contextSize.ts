import { blocksOf, blockTokens } from "../cache/blockTree.ts";
import { stateRowsPerSequence } from "../cache/stateRows.ts";
import type { CacheType } from "../model/recording.ts";
import { wholeNumber } from "../options.ts";
import type { DecoderConfig } from "./config.ts";

/** A context that was chosen, and why. */
export interface ChosenContext {
  readonly contextLength: number;
  readonly reason: string;
}

/** What a context is chosen by. */
export interface ContextWishes {
  readonly wanted: number | "auto" | undefined;
  readonly config: DecoderConfig;
  readonly sequences: number;
  readonly cacheType: CacheType;
  /** Of the weights. */
  readonly weightBytes: number;
  /** Bytes that weights and cache may take together; undefined if only the platform knows. */
  readonly memoryLimit: number | undefined;
}

const defaultLimit = 4096;

/**
 * Tokens that all sequences hold together, at most. Blocks are counted before they are filled, so a recurrent model, which has no cache that
 * could run out of memory, must not ask for more because its file says so. Models are trained on up to 2^24.
 */
const mostTokens = 2 ** 26;

/** Bytes of the cache of all sequences, and of the states of a recurrent model. */
export function cacheBytes(config: DecoderConfig, cacheType: CacheType, contextLength: number, sequences: number): number {
  const elementBytes = { f32: 4, f16: 2, q8_0: 34 / 32 }[cacheType];
  const layers = Array.from({ length: config.layers }, (_, layer) => layer).filter(config.hasCache).length;
  const perToken = layers * config.kvHeads * (config.keyLength + config.valueLength) * elementBytes;
  const stateElements = config.states.reduce((total, { shape }) => total + shape.reduce((product, extent) => product * extent, 1), 0);
  return sequences * (perToken * blocksOf(contextLength) * blockTokens + 4 * stateElements * stateRowsPerSequence);
}

/**
 * The contexts to try, the best first: the one that is asked for, or for "auto" the longest for which weights and cache fit the memory, and
 * then shorter ones for devices that have less than was believed.
 * @throws {ArgumentError} for a length outside the model's; {OutOfMemoryError} if not even a short one fits
 */
export async function contextsToTry(wishes: ContextWishes): Promise<readonly ChosenContext[]> {
  const { wanted, config, sequences } = wishes;
  const trained = config.contextLength;
  const longest = Math.min(trained, Math.max(1, Math.floor(mostTokens / sequences)));
  if (wanted === undefined) {
    if (trained <= defaultLimit) return [{ contextLength: trained, reason: "as trained" }];
    return [{ contextLength: defaultLimit, reason: `the default; the model was trained on ${trained}` }];
  }
  if (wanted !== "auto") return [{ contextLength: wholeNumber("contextLength", wanted, 1, longest), reason: "as asked for" }];
  const { autoContexts } = await import("./autoContext.ts");
  return autoContexts({ ...wishes, longest });
}
