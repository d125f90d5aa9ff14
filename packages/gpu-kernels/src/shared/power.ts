import type { Emitter, F32 } from "../emitter.ts";
import { preciseLog } from "./math.ts";

/** `a^b` as IEEE 754 and C define it, by `exp(b log |a|)`. */
export function ieeePower(k: Emitter, a: F32, b: F32): F32 {
  const infinity = k.constant("f32", Number.POSITIVE_INFINITY);
  const nan = k.constant("f32", Number.NaN);
  const one = k.constant("f32", 1);
  const [base, exponent] = [k.abs(a), k.abs(b)];
  const isUp = k.compare("gt", b, 0);
  const isInfinite = k.compare("eq", base, infinity);
  const isZero = k.compare("eq", base, 0);
  // Bounded, so that no product of infinities occurs.
  const product = k.mul(k.min(k.max(b, -1e30), 1e30), preciseLog(k, k.select(k.either(isInfinite, isZero), one, base)));
  const power = k.exp(k.min(k.max(product, -300), 300));
  const ofZero = k.select(isUp, k.constant("f32", 0), infinity);
  const ofInfinity = k.select(isUp, infinity, 0);
  const positive = k.select(isZero, ofZero, k.select(isInfinite, ofInfinity, power));
  // From 2^24 on every number is even; 2^23 and odd numbers below it keep their last bit in an integer.
  const isWhole = k.compare("eq", k.trunc(b), b);
  const parity = k.and(k.convert("u32", k.min(exponent, 2 ** 24)), 1);
  const isOdd = k.both(isWhole, k.compare("ne", parity, 0));
  const isBelow = k.compare("ge", k.bitcast("u32", a), 0x80000000);
  const signed = k.select(k.both(isBelow, isOdd), k.neg(positive), positive);
  // Negative numbers, except -0 and -Infinity, only have whole powers.
  const isWithout = k.both(k.both(isBelow, k.not(isWhole)), k.not(k.either(isZero, isInfinite)));
  const ofFinite = k.select(isWithout, nan, signed);
  const grows = k.select(k.compare("gt", base, 1), ofInfinity, k.select(isUp, k.constant("f32", 0), infinity));
  const ofInfiniteExponent = k.select(k.compare("eq", base, 1), one, grows);
  const y = k.select(k.compare("eq", exponent, infinity), ofInfiniteExponent, ofFinite);
  const hasNaN = k.either(k.isNaN(a), k.isNaN(b));
  return k.select(k.either(k.compare("eq", a, 1), k.compare("eq", b, 0)), one, k.select(hasNaN, nan, y));
}
