import type { ModelShape } from "../load/modelShape.ts";
import type { CacheType } from "../model/modelBuilder.ts";
import { blocksOf, blockTokens } from "./prefixCache.ts";
import { stateRowsPerSequence } from "./recurrentStatePool.ts";

/** Bytes of the cache of all sequences, including recurrent states. */
export function cacheBytes(config: ModelShape, cacheType: CacheType, contextLength: number, sequences: number): number {
  const elementBytes = { f32: 4, f16: 2, q8_0: 34 / 32 }[cacheType];
  const layers = Array.from({ length: config.layers }, (_, layer) => layer).filter(config.hasCache).length;
  const perToken = layers * config.kvHeads * (config.keyLength + config.valueLength) * elementBytes;
  const stateElements = config.states.reduce((total, { shape }) => total + shape.reduce((product, extent) => product * extent, 1), 0);
  return sequences * (perToken * blocksOf(contextLength) * blockTokens + 4 * stateElements * stateRowsPerSequence);
}
