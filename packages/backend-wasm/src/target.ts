import { mapTuple } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, relaxed, type V128 } from "./emit/index.ts";

/** Instructions that emitted code may use. */
export interface Target {
  /** Relaxed SIMD: fused multiply-add and 8-bit dot products. */
  readonly relaxed: boolean;
  readonly dots: ByteDots;
}

/**
 * The fastest way to add products of bytes. "quads" adds four into 32 bits: one instruction with VNNI or similar, five
 * elsewhere. "mixedQuads" does so, and takes all unsigned bytes as the second operand, as VNNI does. "pairs" adds two
 * into 16 bits: one instruction on every x86. "wide" adds two 16-bit products into 32 bits, without relaxed SIMD. All are
 * exact.
 */
export type ByteDots = "quads" | "mixedQuads" | "pairs" | "wide";

/** `a * b + c`, fused if the target has relaxed SIMD. */
export function madd(target: Target, a: V128, b: V128, c: V128): V128 {
  return target.relaxed ? relaxed.madd(a, b, c) : f32x4.add(f32x4.mul(a, b), c);
}

/** Coefficients of a polynomial, from the highest power down. */
export type Coefficients = readonly [number, ...number[]];

/** The polynomial `x * (… (x * c0 + c1) …) + cn`. */
export function horner(f: FunctionBuilder, target: Target, x: V128, coefficients: Coefficients): V128 {
  const [first, ...rest] = mapTuple(coefficients, (c) => f.splat(c));
  return rest.reduce((sum, coefficient) => madd(target, sum, x, coefficient), first);
}
