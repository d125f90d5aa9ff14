import { f32, f32x4, i32, i32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { iq4Levels } from "../formats/iq4_nl.ts";
import { zip } from "../kernels/shared/zip.ts";
import { codeOf, type FourBlocks, largestValue, type Vectors } from "./fourBlocks.ts";

/** Groups with no larger value count as zero. Source: `GROUP_MAX_EPS` of ggml-quants.c. */
const tiny = 1e-15;

/** Lanes whose largest value is below {@link tiny}. */
export function isTiny(q: FourBlocks, largest: V128): Local<"v128"> {
  return q.f.let(f32x4.lt(f32x4.abs(largest), q.f.splat(tiny)));
}

/** Adds terms in order. */
function accumulate(q: FourBlocks, sum: Local<"v128">, term: V128): void {
  q.f.set(sum, f32x4.add(sum, term));
}

/** Inverse scales that {@link affineScale} tries: `(first + step * i + max) / range` for `i` from 0 to `steps`. */
export interface ScaleSearch {
  readonly first: number;
  readonly step: number;
  readonly steps: number;
  /** Minimise absolute errors instead of squared ones. */
  readonly absolute: boolean;
}

/**
 * Finds a scale, a minimum, and codes `[0, max]` with `x ~ scale * code - min` for a group of `n` values with weights
 * in `q.weights`. `make_qkx2_quants` of ggml-quants.c, see affineScale.ts of @centella/quant.
 */
export function affineScale(
  q: FourBlocks,
  x: Vectors,
  codes: Vectors,
  n: number,
  max: number,
  { first, step, steps, absolute }: ScaleSearch,
): { readonly scale: Local<"v128">; readonly min: V128 } {
  const { f, weights, shifted, trial } = q;
  const low = f.let(x.load(0));
  const high = f.let(low);
  const sumW = f.let(weights.load(0));
  const sumX = f.let(f32x4.mul(sumW, low));
  q.each(
    n,
    (i) => {
      const value = f.let(x.load(i));
      f.set(low, f32x4.pmin(low, value));
      f.set(high, f32x4.pmax(high, value));
      accumulate(q, sumW, weights.load(i));
      accumulate(q, sumX, f32x4.mul(weights.load(i), value));
    },
    1,
  );
  f.set(low, f32x4.pmin(low, f.splat(0)));
  const shift = (): void => q.each(n, (i) => shifted.store(i, f32x4.sub(x.load(i), low)));
  const error = (of: Vectors, scale: V128, min: V128): Local<"v128"> => {
    const sum = f.let(f.splat(0));
    q.each(n, (i) => {
      const difference = f.let(f32x4.sub(f32x4.add(f32x4.mul(scale, of.load(i)), min), x.load(i)));
      const cost = absolute ? f32x4.abs(difference) : f32x4.mul(difference, difference);
      accumulate(q, sum, f32x4.mul(weights.load(i), cost));
    });
    return sum;
  };
  const plain = f.let(f32x4.div(f.splat(max), f32x4.sub(high, low)));
  const scale = f.let(f32x4.div(f.splat(1), plain));
  shift();
  q.each(n, (i) => codes.store(i, codeOf(f, f32x4.mul(plain, shifted.load(i)), 0, max)));
  const best = f.let(error(codes, scale, low));
  const [count, sumL, sumL2, sumLX] = [f.local("i32"), f.local("v128"), f.local("v128"), f.local("v128")];
  f.for(count, 0, steps + 1, 1, () => {
    const offset = f32.add(f32.const(first), f32.mul(f32.const(step), f32.fromI32(count)));
    const inverse = f.let(f32x4.div(f32x4.splat(f32.add(offset, f32.const(max))), f32x4.sub(high, low)));
    for (const sum of [sumL, sumL2, sumLX]) f.set(sum, f.splat(0));
    q.each(n, (i) => {
      const code = f.let(codeOf(f, f32x4.mul(inverse, shifted.load(i)), 0, max));
      trial.store(i, code);
      const weighted = f.let(f32x4.mul(weights.load(i), code));
      accumulate(q, sumL, weighted);
      accumulate(q, sumL2, f32x4.mul(weighted, code));
      accumulate(q, sumLX, f32x4.mul(weighted, x.load(i)));
    });
    const determinant = f.let(f32x4.sub(f32x4.mul(sumW, sumL2), f32x4.mul(sumL, sumL)));
    const trialScale = f.let(f32x4.div(f32x4.sub(f32x4.mul(sumW, sumLX), f32x4.mul(sumX, sumL)), determinant));
    const trialMin = f.let(f32x4.div(f32x4.sub(f32x4.mul(sumL2, sumX), f32x4.mul(sumL, sumLX)), determinant));
    const isAbove = f.let(f32x4.gt(trialMin, f.splat(0)));
    f.set(trialScale, v128.bitselect(isAbove, f32x4.div(sumLX, sumL2), trialScale));
    f.set(trialMin, v128.andnot(trialMin, isAbove));
    const trialError = error(trial, trialScale, trialMin);
    const isBetter = f.let(v128.and(f32x4.gt(determinant, f.splat(0)), f32x4.lt(trialError, best)));
    f.if(v128.anyTrue(isBetter), () => {
      f.set(best, v128.bitselect(isBetter, trialError, best));
      f.set(scale, v128.bitselect(isBetter, trialScale, scale));
      // Later trials start from the better minimum too.
      f.set(low, v128.bitselect(isBetter, trialMin, low));
      q.each(n, (i) => codes.store(i, v128.bitselect(isBetter, trial.load(i), codes.load(i))));
      shift();
    });
  });
  return { scale, min: f32x4.neg(low) };
}

/**
 * Finds the best of 19 scales, which may be negative, and codes `[-max, max - 1]` with `x ~ scale * code` for 16
 * values, weighted by `x^2`. `make_qx_quants` of ggml-quants.c, error type 1, see symmetricScale.ts of @centella/quant.
 */
export function symmetricScale(q: FourBlocks, x: Vectors, codes: Vectors, max: number): Local<"v128"> {
  const { f, trial } = q;
  const n = 16;
  const largest = largestValue(q, x, n);
  const isZero = isTiny(q, largest);
  const [scale, best] = [f.let(f.splat(0)), f.let(f.splat(0))];
  const [count, sumLX, sumL2] = [f.local("i32"), f.local("v128"), f.local("v128")];
  f.for(count, 0, 19, 1, () => {
    // The plain scale comes first, so that it wins ties.
    const step = i32.select(count, i32.sub(count, i32.select(i32.ltU(count, 10), 10, 9)), 0);
    const reach = f32.add(f32.const(max), f32.mul(f32.const(Math.fround(0.1)), f32.fromI32(step)));
    const inverse = f.let(f32x4.div(f32x4.splat(f32.neg(reach)), largest));
    f.set(sumLX, f.splat(0));
    f.set(sumL2, f.splat(0));
    q.each(n, (i) => {
      const value = f.let(x.load(i));
      const weight = f.let(f32x4.mul(value, value));
      const code = f.let(codeOf(f, f32x4.mul(inverse, value), -max, max - 1));
      trial.store(i, code);
      accumulate(q, sumLX, f32x4.mul(f32x4.mul(weight, value), code));
      accumulate(q, sumL2, f32x4.mul(f32x4.mul(weight, code), code));
    });
    const isMore = v128.and(f32x4.gt(sumL2, f.splat(0)), f32x4.gt(f32x4.mul(sumLX, sumLX), f32x4.mul(best, sumL2)));
    const isLater = i32x4.splat(i32.sub(i32.eqz(count), 1));
    const isBetter = f.let(v128.or(isMore, v128.not(isLater)));
    f.if(v128.anyTrue(isBetter), () => {
      q.each(n, (i) => codes.store(i, v128.bitselect(isBetter, trial.load(i), codes.load(i))));
      const quotient = v128.andnot(f32x4.div(sumLX, sumL2), f32x4.eq(sumL2, v128.zero()));
      f.set(scale, v128.bitselect(isBetter, quotient, scale));
      f.set(best, v128.bitselect(isBetter, f32x4.mul(scale, sumLX), best));
    });
  });
  q.each(n, (i) => codes.store(i, v128.bitselect(isZero, f.splat(-max), codes.load(i))));
  f.set(scale, v128.andnot(scale, isZero));
  return scale;
}

/**
 * Like {@link symmetricScale}, with another search: starts from codes for the scale `-largest / max`, and changes
 * single codes in up to five passes while that lowers the error. `make_q3_quants` of ggml-quants.c.
 */
export function refinedScale(q: FourBlocks, x: Vectors, codes: Vectors, max: number): Local<"v128"> {
  const { f } = q;
  const n = 16;
  const largest = largestValue(q, x, n);
  const isZero = isTiny(q, largest);
  const inverse = f.let(f32x4.div(f.splat(-max), largest));
  const [sumLX, sumL2] = [f.let(f.splat(0)), f.let(f.splat(0))];
  q.each(n, (i) => {
    const value = f.let(x.load(i));
    const weight = f.let(f32x4.mul(value, value));
    const code = f.let(codeOf(f, f32x4.mul(inverse, value), -max, max - 1));
    codes.store(i, code);
    accumulate(q, sumLX, f32x4.mul(f32x4.mul(weight, value), code));
    accumulate(q, sumL2, f32x4.mul(f32x4.mul(weight, code), code));
  });
  const pass = f.local("i32");
  // After a pass without a change, all further passes have none.
  f.for(pass, 0, 5, 1, () =>
    q.each(n, (i) => {
      const value = f.let(x.load(i));
      const weight = f.let(f32x4.mul(value, value));
      const weighted = f.let(f32x4.mul(weight, value));
      const code = f.let(codes.load(i));
      const restLX = f.let(f32x4.sub(sumLX, f32x4.mul(weighted, code)));
      const restL2 = f.let(f32x4.sub(sumL2, f32x4.mul(f32x4.mul(weight, code), code)));
      const next = f.let(codeOf(f, f32x4.div(f32x4.mul(value, restL2), restLX), -max, max - 1));
      const nextLX = f.let(f32x4.add(restLX, f32x4.mul(weighted, next)));
      const nextL2 = f.let(f32x4.add(restL2, f32x4.mul(f32x4.mul(weight, next), next)));
      const isLess = f32x4.gt(f32x4.mul(f32x4.mul(nextLX, nextLX), sumL2), f32x4.mul(f32x4.mul(sumLX, sumLX), nextL2));
      const isPositive = v128.and(f32x4.gt(restLX, f.splat(0)), f32x4.gt(nextL2, f.splat(0)));
      const isTaken = f.let(v128.and(v128.and(isLess, isPositive), f32x4.ne(next, code)));
      codes.store(i, v128.bitselect(isTaken, next, code));
      f.set(sumLX, v128.bitselect(isTaken, nextLX, sumLX));
      f.set(sumL2, v128.bitselect(isTaken, nextL2, sumL2));
    }),
  );
  q.each(n, (i) => codes.store(i, v128.bitselect(isZero, f.splat(-max), codes.load(i))));
  return f.let(v128.andnot(v128.and(f32x4.div(sumLX, sumL2), f32x4.gt(sumL2, f.splat(0))), isZero));
}

const [lowestLevel, ...higherLevels] = iq4Levels;

/** Adjacent levels of iq4_nl. */
const levelPairs = zip<number, number>(iq4Levels.slice(0, -1), higherLevels);

/** Lanes in which level `high` of iq4_nl or one above is nearer to `x` than level `low`, which comes before it. Ties go up. */
function isAboveLevel(q: FourBlocks, x: Local<"v128">, low: number, high: number): V128 {
  const { f } = q;
  return v128.not(f32x4.lt(f32x4.sub(x, f.splat(low)), f32x4.sub(f.splat(high), x)));
}

/** Index of the level of iq4_nl nearest to `x`. */
export function levelIndex(q: FourBlocks, x: V128): Local<"v128"> {
  const { f } = q;
  const value = f.let(x);
  const index = f.let(f.splatBits(0));
  for (const [low, high] of levelPairs) f.set(index, i32x4.sub(index, isAboveLevel(q, value, low, high)));
  return index;
}

/** The level of iq4_nl nearest to `x`. */
function nearestLevel(q: FourBlocks, x: V128): Local<"v128"> {
  const { f } = q;
  const value = f.let(x);
  const level = f.let(f.splat(lowestLevel));
  for (const [low, high] of levelPairs) {
    f.set(level, f32x4.add(level, v128.and(isAboveLevel(q, value, low, high), f.splat(high - low))));
  }
  return level;
}

/**
 * Finds the best of 16 scales, which may be negative, with `x ~ scale * level` for 32 values, weighted by `x^2`.
 * `quantize_row_iq4_nl_impl` of ggml-quants.c, see levelScale.ts of @centella/quant.
 */
export function levelScale(q: FourBlocks, x: Vectors): V128 {
  const { f } = q;
  const n = 32;
  const largest = largestValue(q, x, n);
  const isZero = isTiny(q, largest);
  const [scale, best] = [f.let(f.splat(0)), f.let(f.splat(0))];
  const [trial, inverse, sumQX, sumQ2] = [f.local("i32"), f.local("v128"), f.local("v128"), f.local("v128")];
  f.for(trial, 0, 16, 1, () => {
    f.if(
      trial,
      () => f.set(inverse, f32x4.div(f32x4.splat(f32.fromI32(i32.add(trial, lowestLevel - 8))), largest)),
      // The largest value maps to the opposite end. It comes first, so that it wins ties.
      () => f.set(inverse, f32x4.div(f.splat(1), f32x4.div(f32x4.neg(largest), f.splat(lowestLevel)))),
    );
    f.set(sumQX, f.splat(0));
    f.set(sumQ2, f.splat(0));
    q.each(n, (i) => {
      const value = f.let(x.load(i));
      const level = nearestLevel(q, f32x4.mul(inverse, value));
      const weighted = f.let(f32x4.mul(f32x4.mul(value, value), level));
      accumulate(q, sumQX, f32x4.mul(weighted, value));
      accumulate(q, sumQ2, f32x4.mul(weighted, level));
    });
    const isPositive = f.let(f32x4.gt(sumQ2, f.splat(0)));
    const isMore = v128.and(isPositive, f32x4.gt(f32x4.mul(sumQX, sumQX), f32x4.mul(best, sumQ2)));
    const isLater = i32x4.splat(i32.sub(i32.eqz(trial), 1));
    const isBetter = f.let(v128.or(isMore, v128.not(isLater)));
    f.set(scale, v128.bitselect(isBetter, v128.and(f32x4.div(sumQX, sumQ2), isPositive), scale));
    f.set(best, v128.bitselect(isBetter, f32x4.mul(scale, sumQX), best));
  });
  return v128.andnot(scale, isZero);
}
