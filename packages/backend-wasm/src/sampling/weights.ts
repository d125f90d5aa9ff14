import { samplingConstants } from "@centella/core/backend";
import { type Expr, type FunctionBuilder, type FunctionRef, f32, f64, i32, i64, type Local, type ModuleBuilder } from "../emit/index.ts";

const { exponentScale, fractionBits, maxExponent, powerCoefficients, weightBits } = samplingConstants;

/** Emits core's `weightOf`. */
export function emitWeight(module: ModuleBuilder, name: string): FunctionRef<{ readonly distance: "f32" }, "i32"> {
  return module.value(name, { distance: "f32" }, "i32", (f, { distance }) => {
    const scaled = f32.min(f32.mul(distance, f32.const(exponentScale)), f32.const(maxExponent));
    const exponent = f.let(i32.truncF64(f64.fromF32(scaled)));
    const whole = f.let(i32.shrU(exponent, fractionBits));
    f.if(i32.geU(whole, weightBits), () => f.return(i32.const(0)));
    const x = f.let(i64.fromI32U(i32.and(exponent, 2 ** fractionBits - 1)));
    const sum = f.local("i64");
    const timesX = (): Expr<"i64"> => i64.shrU(i64.mul(sum, x), i64.const(fractionBits));
    for (const coefficient of powerCoefficients.toReversed()) f.set(sum, i64.sub(i64.const(coefficient), timesX()));
    return i32.shrU(i32.sub(0xffffffff, i32.wrap(timesX())), i32.add(whole, 32 - weightBits));
  });
}

/** `floor(total * numerator / 2^32)`, with a u32 numerator. */
export function share(f: FunctionBuilder, total: Local<"i64">, numerator: Expr<"i32">): Expr<"i64"> {
  const factor = f.let(i64.fromI32U(numerator));
  const low = i64.fromI32U(i32.wrap(total));
  const bits = i64.const(32);
  return i64.add(i64.mul(i64.shrU(total, bits), factor), i64.shrU(i64.mul(low, factor), bits));
}

/** The whole part of a fraction of a power of two, at most `most`. */
export function scaled(f: FunctionBuilder, fraction: Expr<"f32">, powerOfTwo: number, most: number): Expr<"i32"> {
  const whole = f.let(i32.truncF64U(f64.mul(f64.fromF32(fraction), f64.const(powerOfTwo))));
  return i32.select(i32.ltU(whole, most), whole, most);
}
