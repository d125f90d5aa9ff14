import type { DType } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import { f32x4, i32x4, type Local, type V128, v128 } from "../../emit/index.ts";
import { toBfloats, toHalves, widenHalves } from "../../formats/half.ts";
import type { Scope } from "../expression.ts";
import { isFloat } from "../lanes.ts";
import type { ExpressionTable } from "./table.ts";

export const conversion: ExpressionTable = {
  cast: { emit: (scope, x) => convert(scope, x) },
};

/** Converts lanes between dtypes, by the rules of core's dtype table. */
function convert({ f, inputs, output: to }: Scope, x: Local<"v128">): V128 {
  const [from] = tupleOf(inputs, 1);
  if (from === to) return x;
  if (to === "bool") return isFloat(from) ? f32x4.ne(x, v128.zero()) : i32x4.ne(x, v128.zero());
  if (isFloat(to)) {
    if (isFloat(from)) return rounded(f, to, x);
    if (from === "bool") return v128.and(x, f.splat(1));
    return rounded(f, to, f.let(from === "u32" ? f32x4.fromU32x4(x) : f32x4.fromI32x4(x)));
  }
  if (from === "bool") return v128.and(x, f.splatBits(1));
  if (isFloat(from)) {
    if (to === "u32") return i32x4.truncSatF32x4U(x);
    const whole = i32x4.truncSatF32x4S(x);
    if (to === "i32") return whole;
    const [low, high] = to === "i8" ? [-128, 127] : [0, 255];
    return i32x4.minS(i32x4.maxS(whole, f.splatBits(low)), f.splatBits(high));
  }
  if (to === "i8") return i32x4.shrS(i32x4.shl(x, 24), 24);
  return to === "u8" ? v128.and(x, f.splatBits(0xff)) : x;
}

/** The value of an f32 after it is stored as `dtype`. */
function rounded(f: Scope["f"], dtype: DType, x: Local<"v128">): V128 {
  if (dtype === "f16") return widenHalves(f, toHalves(f, x));
  return dtype === "bf16" ? i32x4.shl(toBfloats(f, x), 16) : x;
}
