import { type FunctionBuilder, f32x4, type Local, type V128, v128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";
import { onePlusExp } from "./exp.ts";

/** Hyperbolic tangent within 3 ulp: a polynomial below 0.625 (Cephes' `tanhf`), `1 - 2 / (e^2|x| + 1)` above. */
export function tanh(f: FunctionBuilder, target: Target, argument: V128): Local<"v128"> {
  const x = f.let(argument);
  const magnitude = f.let(f32x4.abs(x));
  const z = f.let(f32x4.mul(x, x));
  const p = horner(f, target, z, [-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1]);
  const small = f.let(madd(target, f32x4.mul(p, z), x, x));
  const large = f32x4.sub(f.splat(1), f32x4.div(f.splat(2), onePlusExp(f, target, f32x4.add(magnitude, magnitude))));
  const unsigned = v128.bitselect(f32x4.lt(magnitude, f.splat(0.625)), small, large);
  return f.let(v128.or(unsigned, v128.and(x, f.splatBits(0x80000000))));
}
