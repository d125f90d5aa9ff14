import { type FunctionBuilder, f32x4, type Local, type V128, v128 } from "../../emit/index.ts";
import { cosine, reduceAngle, sine } from "../../math/angle.ts";
import { horner, madd, type Target } from "../../target.ts";
import type { ExpressionTable } from "./table.ts";

/** pi / 2 as an f32, and the remainder. */
const quarter = Math.fround(Math.PI / 2);
const quarterRest = Math.PI / 2 - quarter;

export const trigonometric: ExpressionTable = {
  sin: {
    emit: ({ f, target }, x) => {
      const { r, isOdd, isUpper } = reduceAngle(f, x);
      const value = v128.bitselect(isOdd, cosine(f, target, r), sine(f, target, r));
      return v128.xor(value, v128.and(isUpper, f.splatBits(0x80000000)));
    },
  },
  cos: {
    emit: ({ f, target }, x) => {
      const { r, isOdd, isUpper } = reduceAngle(f, x);
      const value = v128.bitselect(isOdd, sine(f, target, r), cosine(f, target, r));
      return v128.xor(value, v128.and(v128.xor(isOdd, isUpper), f.splatBits(0x80000000)));
    },
  },
  // Within 4 ulp.
  tan: {
    emit: ({ f, target }, x) => {
      const { r, isOdd } = reduceAngle(f, x);
      const [s, c] = [sine(f, target, r), cosine(f, target, r)];
      const quotient = f32x4.div(v128.bitselect(isOdd, c, s), v128.bitselect(isOdd, s, c));
      return v128.xor(quotient, v128.and(isOdd, f.splatBits(0x80000000)));
    },
  },
  asin: {
    emit: ({ f, target }, x) => {
      const magnitude = f.let(f32x4.abs(x));
      const { value, isLarge } = arcsine(f, target, magnitude);
      const large = f32x4.add(f32x4.sub(f.splat(quarter), f32x4.add(value, value)), f.splat(quarterRest));
      return v128.or(v128.bitselect(isLarge, large, value), v128.and(x, f.splatBits(0x80000000)));
    },
  },
  acos: {
    emit: ({ f, target }, x) => {
      const magnitude = f.let(f32x4.abs(x));
      const { value, isLarge } = arcsine(f, target, magnitude);
      const twice = f.let(f32x4.add(value, value));
      const isNegative = f.let(f32x4.lt(x, v128.zero()));
      const signed = v128.xor(value, v128.and(x, f.splatBits(0x80000000)));
      const large = v128.bitselect(isNegative, f32x4.sub(f.splat(Math.PI), twice), twice);
      return v128.bitselect(isLarge, large, f32x4.sub(f.splat(Math.PI / 2), signed));
    },
  },
  // Within 2.5 ulp: Cephes' `atanf`, with the range reduced to thirds by tan's addition theorem.
  atan: {
    emit: ({ f, target }, x) => {
      const magnitude = f.let(f32x4.abs(x));
      const one = f.splat(1);
      const isLarge = f.let(f32x4.gt(magnitude, f.splat(2.414213562373095)));
      const isMiddle = f.let(v128.andnot(f32x4.gt(magnitude, f.splat(0.4142135623730951)), isLarge));
      const part = f32x4.div(
        v128.bitselect(isLarge, f.splat(-1), f32x4.sub(magnitude, one)),
        v128.bitselect(isLarge, magnitude, f32x4.add(magnitude, one)),
      );
      const t = f.let(v128.bitselect(v128.or(isLarge, isMiddle), part, magnitude));
      const offset = v128.or(v128.and(isLarge, f.splat(Math.PI / 2)), v128.and(isMiddle, f.splat(Math.PI / 4)));
      const z = f.let(f32x4.mul(t, t));
      const p = horner(f, target, z, [8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1]);
      const rest = v128.or(v128.and(isLarge, f.splat(quarterRest)), v128.and(isMiddle, f.splat(quarterRest / 2)));
      const value = f32x4.add(offset, f32x4.add(madd(target, f32x4.mul(p, z), t, t), rest));
      return v128.or(value, v128.and(x, f.splatBits(0x80000000)));
    },
  },
};

/** Cephes' `asinf` for x ≥ 0: asin x up to 0.5, above that asin of `sqrt((1 - x) / 2)`; NaN above 1. */
function arcsine(f: FunctionBuilder, target: Target, x: Local<"v128">): { readonly value: Local<"v128">; readonly isLarge: Local<"v128"> } {
  const isLarge = f.let(f32x4.gt(x, f.splat(0.5)));
  const half = f.let(f32x4.mul(f32x4.sub(f.splat(1), x), f.splat(0.5)));
  const z = f.let(v128.bitselect(isLarge, half, f32x4.mul(x, x)));
  const t = f.let(v128.bitselect(isLarge, f32x4.sqrt(half), x));
  const p: V128 = horner(f, target, z, [4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1]);
  return { value: f.let(madd(target, f32x4.mul(p, z), t, t)), isLarge };
}
