import { tupleOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, f64x2, type Local, type V128, v128 } from "../../emit/index.ts";
import { doubleSplat, expDouble, inDouble, logDouble } from "../../math/double.ts";
import { exp, halfExp } from "../../math/exp.ts";
import { log } from "../../math/log.ts";
import { horner, madd } from "../../target.ts";
import type { Scope } from "../expression.ts";
import type { ExpressionTable } from "./table.ts";

/** `magnitude` with the sign of `x`. */
function withSign(f: FunctionBuilder, magnitude: V128, x: V128): V128 {
  return v128.or(magnitude, v128.and(x, f.splatBits(0x80000000)));
}

/** Exponents with faster code. */
const products: Readonly<Record<string, (f: FunctionBuilder, x: V128) => V128>> = {
  "-1": (f, x) => f32x4.div(f.splat(1), x),
  "1": (_f, x) => x,
  "2": (_f, x) => f32x4.mul(x, x),
};

export const exponential: ExpressionTable = {
  exp: { emit: ({ f, target }, x) => exp(f, target, x) },
  log: { emit: ({ f, target }, x) => log(f, target, x) },
  log2: { emit: ({ f, target }, x) => f32x4.mul(log(f, target, x), f.splat(Math.LOG2E)) },
  log10: { emit: ({ f, target }, x) => f32x4.mul(log(f, target, x), f.splat(Math.LOG10E)) },
  pow: {
    variant: ({ exponent }) => (Object.hasOwn(products, String(exponent)) ? String(exponent) : ""),
    scalars: ({ exponent }) => [exponent],
    emit(scope, x) {
      const [exponent] = tupleOf(scope.scalars, 1);
      return products[scope.variant]?.(scope.f, x) ?? power(scope, x, scope.f.let(exponent));
    },
  },
  power: { emit: (scope, a, b) => power(scope, a, b) },
  // Within 2 ulp: the Taylor series below 1, `(e^|x| - e^-|x|) / 2` above.
  sinh: {
    emit: ({ f, target }, x) => {
      const z = f.let(f32x4.mul(x, x));
      const series = horner(f, target, z, [1 / 362880, 1 / 5040, 1 / 120, 1 / 6]);
      const small = madd(target, f32x4.mul(series, z), x, x);
      const magnitude = f.let(f32x4.abs(x));
      const half = halfExp(f, target, magnitude);
      const large = withSign(f, f32x4.sub(half, f32x4.div(f.splat(0.25), half)), x);
      return v128.bitselect(f32x4.lt(magnitude, f.splat(1)), small, large);
    },
  },
  cosh: {
    emit: ({ f, target }, x) => {
      const half = halfExp(f, target, f32x4.abs(x));
      return f32x4.add(half, f32x4.div(f.splat(0.25), half));
    },
  },
  // Inverses within 1 ulp: logarithms in f64, and x itself where x^3 is negligible.
  asinh: {
    emit: ({ f }, x) => {
      const magnitude = f.let(f32x4.abs(x));
      const large = inDouble(f, [magnitude], (a) => {
        const root = f64x2.sqrt(f64x2.add(f64x2.mul(a, a), doubleSplat(f, 1)));
        return logDouble(f, f.let(f64x2.add(a, root)));
      });
      return v128.bitselect(f32x4.gt(magnitude, f.splat(2 ** -12)), withSign(f, large, x), x);
    },
  },
  acosh: {
    emit: ({ f }, x) =>
      inDouble(f, [x], (a) => {
        const root = f64x2.sqrt(f64x2.sub(f64x2.mul(a, a), doubleSplat(f, 1)));
        const sum = f.let(f64x2.add(a, root));
        // Below 1 the root is NaN, except for large negative x.
        return logDouble(f, f.let(v128.bitselect(f64x2.lt(a, doubleSplat(f, 1)), doubleSplat(f, Number.NaN), sum)));
      }),
  },
  atanh: {
    emit: ({ f }, x) => {
      const magnitude = f.let(f32x4.abs(x));
      const large = inDouble(f, [magnitude], (a) => {
        const one = doubleSplat(f, 1);
        return f64x2.mul(logDouble(f, f.let(f64x2.div(f64x2.add(one, a), f64x2.sub(one, a)))), doubleSplat(f, 0.5));
      });
      return v128.bitselect(f32x4.gt(magnitude, f.splat(2 ** -12)), withSign(f, large, x), x);
    },
  },
};

/**
 * `a^b` within 1 ulp, as IEEE 754 defines it: `e^(b log |a|)` in f64, then the sign and the bases without a logarithm.
 */
function power({ f }: Scope, a: Local<"v128">, b: Local<"v128">): V128 {
  const magnitude = f.let(f32x4.abs(a));
  const unsigned = inDouble(f, [magnitude, b], (x, y) => expDouble(f, f64x2.mul(y, logDouble(f, x))));
  const one = f.splat(1);
  const isWhole = f32x4.eq(f32x4.floor(b), b);
  const half = f.let(f32x4.mul(b, f.splat(0.5)));
  const isOdd = v128.andnot(isWhole, f32x4.eq(f32x4.floor(half), half));
  const isNegative = f32x4.lt(a, v128.zero());
  const result = f.let(v128.or(unsigned, v128.and(v128.and(a, isOdd), f.splatBits(0x80000000))));
  const isInfinite = f32x4.eq(f32x4.abs(b), f.splat(Number.POSITIVE_INFINITY));
  // The square root of Infinity is Infinity, so powers of -Infinity are real.
  const hasBound = f32x4.lt(magnitude, f.splat(Number.POSITIVE_INFINITY));
  const hasNone = v128.andnot(v128.and(isNegative, hasBound), isWhole);
  f.set(result, v128.bitselect(hasNone, f.splat(Number.NaN), result));
  const isOne = v128.or(f32x4.eq(a, one), v128.and(f32x4.eq(magnitude, one), isInfinite));
  return v128.bitselect(v128.or(isOne, f32x4.eq(b, v128.zero())), one, result);
}
