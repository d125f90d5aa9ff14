import { tupleOf } from "@centella/core/backend";
import { f32x4, i32x4, type V128 } from "../../emit/index.ts";
import type { Expression } from "../expression.ts";
import { isFloat } from "../lanes.ts";
import type { ExpressionTable } from "./table.ts";

type Combine = (a: V128, b: V128) => V128;

/** A combination with an instruction for floats and one for integers. */
function combination(onFloats: Combine, onIntegers: Combine): Expression {
  return { emit: ({ output }, a, b) => (isFloat(output) ? onFloats(a, b) : onIntegers(a, b)) };
}

export const arithmetic: ExpressionTable = {
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
};
