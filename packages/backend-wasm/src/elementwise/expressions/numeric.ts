import { f32x4, v128 } from "../../emit/index.ts";
import { madd } from "../../target.ts";
import type { ExpressionTable } from "./table.ts";

/** Signs, roots, rounding, and combinations of several operations. */
export const numeric: ExpressionTable = {
  abs: { emit: (_, x) => f32x4.abs(x) },
  neg: { emit: (_, x) => f32x4.neg(x) },
  // Keeps zeros and NaN.
  sign: {
    emit: ({ f }, x) => {
      const one = v128.or(v128.and(x, f.splatBits(0x80000000)), f.splat(1));
      return v128.bitselect(f32x4.gt(f32x4.abs(x), v128.zero()), one, x);
    },
  },
  floor: { emit: (_, x) => f32x4.floor(x) },
  ceil: { emit: (_, x) => f32x4.ceil(x) },
  round: { emit: (_, x) => f32x4.nearest(x) },
  trunc: { emit: (_, x) => f32x4.trunc(x) },
  fract: { emit: (_, x) => f32x4.sub(x, f32x4.floor(x)) },
  sqrt: { emit: (_, x) => f32x4.sqrt(x) },
  rsqrt: { emit: ({ f }, x) => f32x4.div(f.splat(1), f32x4.sqrt(x)) },
  reciprocal: { emit: ({ f }, x) => f32x4.div(f.splat(1), x) },
  copysign: { emit: ({ f }, a, b) => v128.bitselect(f.splatBits(0x7fffffff), a, b) },
  fma: { emit: ({ target }, a, b, c) => madd(target, a, b, c) },
  lerp: { emit: ({ target }, a, b, t) => madd(target, t, f32x4.sub(b, a), a) },
};
