import { blocksOf, blockTokens } from "../cache/prefixCache.ts";
import { stateRowsPerSequence } from "../cache/recurrentStatePool.ts";
import type { CacheType } from "../model/modelBuilder.ts";
import type { ModelShape } from "./modelShape.ts";

/** A context that was chosen, and why. */
export interface ChosenContext {
  readonly contextLength: number;
  readonly reason: string;
}

/** What a context is chosen by. */
export interface ContextRequest {
  readonly wanted: number | "auto" | undefined;
  readonly config: ModelShape;
  readonly sequences: number;
  readonly cacheType: CacheType;
  /** Of the weights. */
  readonly weightBytes: number;
  /** Bytes that weights and cache may take together; undefined if only the platform knows. */
  readonly memoryLimit: number | undefined;
}

/** Bytes of the cache of all sequences, and of the states of a recurrent model. */
export function cacheBytes(config: ModelShape, cacheType: CacheType, contextLength: number, sequences: number): number {
  const elementBytes = { f32: 4, f16: 2, q8_0: 34 / 32 }[cacheType];
  const layers = Array.from({ length: config.layers }, (_, layer) => layer).filter(config.hasCache).length;
  const perToken = layers * config.kvHeads * (config.keyLength + config.valueLength) * elementBytes;
  const stateElements = config.states.reduce((total, { shape }) => total + shape.reduce((product, extent) => product * extent, 1), 0);
  return sequences * (perToken * blocksOf(contextLength) * blockTokens + 4 * stateElements * stateRowsPerSequence);
}
