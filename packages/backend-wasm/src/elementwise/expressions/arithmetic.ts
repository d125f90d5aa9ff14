import { tupleOf } from "@centella/core/backend";
import { f32x4, i32x4, type V128, v128 } from "../../emit/index.ts";
import { madd } from "../../target.ts";
import type { Expression } from "../expression.ts";
import { isFloat } from "../lanes.ts";
import type { ExpressionTable } from "./table.ts";

type Combine = (a: V128, b: V128) => V128;

/** A combination with an instruction for floats and one for integers. */
function combination(onFloats: Combine, onIntegers: Combine): Expression {
  return { emit: ({ output }, a, b) => (isFloat(output) ? onFloats(a, b) : onIntegers(a, b)) };
}

export const arithmetic: ExpressionTable = {
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
  scale: {
    scalars: ({ by }) => [by],
    emit({ scalars }, x) {
      const [by] = tupleOf(scalars, 1);
      return f32x4.mul(x, by);
    },
  },
  clip: {
    scalars: ({ min, max }) => [min, max],
    emit({ scalars }, x) {
      const [min, max] = tupleOf(scalars, 2);
      return f32x4.pmin(f32x4.pmax(x, min), max);
    },
  },
  add: combination(f32x4.add, i32x4.add),
  sub: combination(f32x4.sub, i32x4.sub),
  mul: combination(f32x4.mul, i32x4.mul),
  div: { emit: (_, a, b) => f32x4.div(a, b) },
  minimum: combination(f32x4.min, i32x4.minS),
  maximum: combination(f32x4.max, i32x4.maxS),
  copysign: { emit: ({ f }, a, b) => v128.bitselect(f.splatBits(0x7fffffff), a, b) },
  fma: { emit: ({ target }, a, b, c) => madd(target, a, b, c) },
  lerp: { emit: ({ target }, a, b, t) => madd(target, t, f32x4.sub(b, a), a) },
};
