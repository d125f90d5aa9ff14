import { f32x4, relaxed, type V128 } from "./emit/index.ts";

/** What the emitted code may use. */
export interface Target {
  /** Relaxed SIMD: fused multiply-add and 8-bit dot products. */
  readonly relaxed: boolean;
  readonly dots: ByteDots;
}

/**
 * How products of bytes are added fastest: by fours to 32 bits (one instruction on processors with VNNI or its like, five on others),
 * by twos to 16 bits (one instruction on every x86), or by twos from 16 bits to 32, for which there is an instruction without relaxed
 * SIMD. All are exact.
 */
export type ByteDots = "quads" | "pairs" | "wide";

/** `a * b + c`, in one instruction where there is one. */
export function madd(target: Target, a: V128, b: V128, c: V128): V128 {
  return target.relaxed ? relaxed.madd(a, b, c) : f32x4.add(f32x4.mul(a, b), c);
}

/** `x * (… (x * c0 + c1) …) + cn`, coefficients from the highest power down. */
export function horner(target: Target, x: V128, coefficients: readonly V128[]): V128 {
  const [first, ...rest] = coefficients;
  return rest.reduce((sum, coefficient) => madd(target, sum, x, coefficient), first!);
}
