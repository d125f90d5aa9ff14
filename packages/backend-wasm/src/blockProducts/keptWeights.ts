import { elementAt, mapTuple } from "@centella/core/backend";
import { type Local, type V128, v128 } from "../emit/index.ts";
import { allQuads, halves } from "../formats/block.ts";
import type { BlockContext, GroupFormat } from "../formats/format.ts";
import type { Lanes } from "./activations.ts";
import { areInPairs, type BlockWeights, blockWeights, unitsOf } from "./weights.ts";

/** Elements whose codes are stored together with the factors of their runs. */
export const stepElements = 32;

/** Bytes between corresponding quads of the first and the second group. */
export const otherGroup = 32;

const vectorBytes = 16 * allQuads.length;

/** Maximum bytes of a block's unpacked weights: 256 values of 16 bits, in runs of 16. */
export const keptBytes: number = vectorBytes * (2 * 64 + 16 + 2 + 8 + 8);

/** Offsets of the unpacked weights of two groups. For each vector, those of four quads are adjacent. */
export interface KeptWeights {
  /** Bytes between two steps of {@link stepElements}. */
  readonly stepBytes: number;
  /**
   * Reads weights at `scratch`, with the codes and scales of runs at `step`: the first step, or the current one under
   * the first one's indices.
   */
  at(scratch: Local<"i32">, step: Local<"i32">): BlockWeights;
}

/**
 * Unpacks a block of a group to memory at `scratch`, for several tiles of tokens. The other group is stored
 * {@link otherGroup} bytes after it.
 */
export function keepWeights(context: BlockContext, format: GroupFormat, lanes: Lanes, scratch: Local<"i32">): KeptWeights {
  const { f, target } = context;
  const weights = blockWeights(context, format, lanes);
  const runs = unitsOf(format);
  const runsPerStep = stepElements / format.runElements;
  // For unsigned codes with integer scales, the scales remove the bias, except in sums that start biased.
  const removesBias = format.biasBits !== undefined && !areInPairs(target, lanes);
  const codes: (readonly [number] | readonly [number, number])[] = [];
  const [factors, d]: [number[], number[]] = [[], []];
  let [m, minusDmin] = [0, 0];
  let [minimumPairs, scalePairs]: [readonly number[], readonly number[]] = [[], []];
  let stepBytes = 0;
  for (const half of halves) {
    let at = 0;
    const keep = (value: V128): number => {
      f.store(scratch, value, at + 16 * half);
      at += vectorBytes;
      return at - vectorBytes;
    };
    runs.forEach((units, run) => {
      for (const unit of units) codes[unit] = mapTuple(weights.codes(unit, half), keep);
      if (weights.scales !== undefined) factors[run] = keep(weights.scales.factor(half, run));
      if (run === runsPerStep - 1) stepBytes = at;
    });
    (format.hasRunScales ? runs : [0]).forEach((_, run) => {
      d[run] = keep(weights.d(half, run));
    });
    if (weights.m !== undefined) m = keep(weights.m(half));
    if (weights.minima !== undefined) {
      minusDmin = keep(weights.minima.minusDmin(half));
      minimumPairs = weights.minima.pairs(half).map(keep);
    }
    if (weights.scales !== undefined && removesBias) scalePairs = weights.scales.pairs(half).map(keep);
  }
  return {
    stepBytes,
    at(scratch, step) {
      const load = (address: Local<"i32">, place: number, quad: number): V128 => v128.load(address, place + 16 * quad);
      return {
        codes: (unit, quad) => mapTuple(elementAt(codes, unit), (place) => load(step, place, quad)),
        d: (quad, run) => load(scratch, elementAt(d, format.hasRunScales ? run : 0), quad),
        scales: weights.scales && {
          factor: (quad, run) => load(step, elementAt(factors, run), quad),
          pairs: (quad) => scalePairs.map((place) => load(scratch, place, quad)),
        },
        m: weights.m && ((quad) => load(scratch, m, quad)),
        minima: weights.minima && {
          minusDmin: (quad) => load(scratch, minusDmin, quad),
          pairs: (quad) => minimumPairs.map((place) => load(scratch, place, quad)),
        },
      };
    },
  };
}
