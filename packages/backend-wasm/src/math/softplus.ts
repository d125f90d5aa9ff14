import { type FunctionBuilder, f32x4, type Local, type V128, v128 } from "../emit/index.ts";
import type { Target } from "../target.ts";
import { expFlushed } from "./exp.ts";
import { log } from "./log.ts";

/** `log(1 + e^x)` as `max(x, 0) + log(1 + e^-|x|)`, with an absolute error of 1e-7; NaN for NaN. */
export function softplus(f: FunctionBuilder, target: Target, x: Local<"v128">): V128 {
  const e = expFlushed(f, target, f32x4.neg(f32x4.abs(x)));
  return f32x4.add(f32x4.pmax(x, v128.zero()), log(f, target, f32x4.add(e, f.splat(1))));
}
