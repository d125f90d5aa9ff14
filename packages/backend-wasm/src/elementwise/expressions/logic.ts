import { tupleOf } from "@centella/core/backend";
import { f32x4, i32x4, type V128, v128 } from "../../emit/index.ts";
import type { Expression } from "../expression.ts";
import { isFloat } from "../lanes.ts";
import type { ExpressionTable } from "./table.ts";

type Test = (a: V128, b: V128) => V128;

/** A comparison of floats, signed integers and unsigned integers. */
function comparison(onFloats: Test, signed: Test, unsigned: Test): Expression {
  return {
    emit({ inputs }, a, b) {
      const [dtype] = tupleOf(inputs, 2);
      return (isFloat(dtype) ? onFloats : dtype === "u32" ? unsigned : signed)(a, b);
    },
  };
}

const swapped =
  (test: Test): Test =>
  (a, b) =>
    test(b, a);

export const logic: ExpressionTable = {
  equal: comparison(f32x4.eq, i32x4.eq, i32x4.eq),
  notEqual: comparison(f32x4.ne, i32x4.ne, i32x4.ne),
  less: comparison(f32x4.lt, swapped(i32x4.gtS), swapped(i32x4.gtU)),
  lessEqual: comparison(f32x4.le, swapped(i32x4.geS), swapped(i32x4.geU)),
  greater: comparison(f32x4.gt, i32x4.gtS, i32x4.gtU),
  greaterEqual: comparison(f32x4.ge, i32x4.geS, i32x4.geU),
  logicalAnd: { emit: (_, a, b) => v128.and(a, b) },
  logicalOr: { emit: (_, a, b) => v128.or(a, b) },
  logicalXor: { emit: (_, a, b) => v128.xor(a, b) },
  logicalNot: { emit: (_, x) => v128.not(x) },
  where: { emit: (_, condition, a, b) => v128.bitselect(condition, a, b) },
  expand: { emit: (_, x) => x },
};
