import type { ModelShape } from "../load/modelShape.ts";
import type { CacheType } from "../model/modelBuilder.ts";
import { blocksOf, blockTokens } from "./prefixCache.ts";
import { stateRowsPerSequence } from "./recurrentStatePool.ts";

/** Bytes of the cache of all sequences, including recurrent states. */
export function cacheBytes(config: ModelShape, cacheType: CacheType, contextLength: number, sequences: number): number {
  const elementBytes = { f32: 4, f16: 2, q8_0: 34 / 32 }[cacheType];
  const cached = Array.from({ length: config.layers }, (_, layer) => layer).filter(config.hasCache);
  const { extraCache } = config;
  const extraElements = (layer: number): number =>
    extraCache === undefined || extraCache.unusedUpTo >= contextLength ? 0 : extraCache.elementsOf(layer);
  const elementsOf = (layer: number): number => {
    const { kvHeads, keyLength, valueLength } = config.headsOf(layer);
    return kvHeads * (keyLength + valueLength) + extraElements(layer);
  };
  const perToken = elementBytes * cached.reduce((total, layer) => total + elementsOf(layer), 0);
  const stateElements = config.states.reduce((total, { shape }) => total + shape.reduce((product, extent) => product * extent, 1), 0);
  return sequences * (perToken * blocksOf(contextLength) * blockTokens + 4 * stateElements * stateRowsPerSequence);
}
