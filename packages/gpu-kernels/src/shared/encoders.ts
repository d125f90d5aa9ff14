import { elementAt } from "@centella/core/backend";
import type { Emitter, F32, U32 } from "../emitter.ts";
import { isSmaller, withSignOf } from "./math.ts";

/** Writes a block of 32 values as 16-bit halves, in the order of its bytes. */
type Encoder = (k: Emitter, values: readonly F32[]) => readonly U32[];

const encoders: Readonly<Record<string, Encoder | undefined>> = {
  q4_0: (k, values) => {
    const { scale, codes } = symmetricBlock(k, values, 8);
    return [scale, ...nibbles(k, codes)];
  },
  q4_1: (k, values) => {
    const { scale, least, codes } = affineBlock(k, values, 15);
    return [scale, least, ...nibbles(k, codes)];
  },
  q5_0: (k, values) => {
    const { scale, codes } = symmetricBlock(k, values, 16);
    return [scale, ...fifthBits(k, codes), ...nibbles(k, codes)];
  },
  q5_1: (k, values) => {
    const { scale, least, codes } = affineBlock(k, values, 31);
    return [scale, least, ...fifthBits(k, codes), ...nibbles(k, codes)];
  },
  q8_0: (k, values) => {
    const magnitude = largestMagnitude(k, values);
    const d = k.divRounded(k.bitcast("f32", magnitude), 127);
    const factor = inverseOf(k, d);
    const bytes = values.map((value) => signedByte(k, roundHalfAway(k, k.mulRounded(value, factor))));
    return [scaleBits(k, magnitude, d), ...pairs(bytes, (low, high) => k.or(low, k.shiftLeft(high, 8)))];
  },
};

/** The encoder of a block type; undefined if it has none here. */
export function encoderOf(dtype: string): Encoder | undefined {
  return Object.hasOwn(encoders, dtype) ? encoders[dtype] : undefined;
}

/** The nearest whole number, halves away from zero. */
export function roundHalfAway(k: Emitter, x: F32): F32 {
  const whole = k.trunc(x);
  const away = k.add(whole, withSignOf(k, k.constant("f32", 1), x));
  return k.select(isSmaller(k, k.sub(x, whole), 0.5), whole, away);
}

/** A whole number from -128 to 127 as a byte. */
export function signedByte(k: Emitter, whole: F32): U32 {
  return k.and(k.bitcast("u32", k.convert("i32", whole)), 0xff);
}

/** A scale, and codes of the values from 0 on. */
interface Encoded {
  /** Bits of an f16. */
  readonly scale: U32;
  readonly codes: readonly U32[];
}

/** `d = largest / -max`, `q = floor(x / d + max + 0.5)` up to `2 * max - 1`, from the first value of the largest magnitude. */
function symmetricBlock(k: Emitter, values: readonly F32[], max: number): Encoded {
  const largest = values.reduce<U32>(
    (best, value) => {
      const bits = k.bitcast("u32", value);
      return k.select(k.compare("gt", magnitudeOf(k, bits), magnitudeOf(k, best)), bits, best);
    },
    k.constant("u32", 0),
  );
  // A power of two: the product is the quotient.
  const d = k.mul(k.bitcast("f32", largest), -1 / max);
  const factor = inverseOf(k, d);
  const codes = values.map((value) => codeOf(k, k.add(k.mulRounded(value, factor), max + 0.5), 2 * max - 1));
  return { scale: scaleBits(k, magnitudeOf(k, largest), d), codes };
}

/** `d = (greatest - least) / max`, `q = floor((x - least) / d + 0.5)` up to `max`. */
function affineBlock(k: Emitter, values: readonly F32[], max: number): Encoded & { readonly least: U32 } {
  const [least, greatest] = (["lt", "gt"] as const).map((comparison) =>
    values.reduce((best, value) => k.select(k.compare(comparison, value, best), value, best)),
  ) as [F32, F32];
  const d = k.divRounded(k.sub(greatest, least), max);
  const factor = inverseOf(k, d);
  const codes = values.map((value) => codeOf(k, k.add(k.mulRounded(k.sub(value, least), factor), 0.5), max));
  return { scale: scaleBits(k, largestMagnitude(k, values), d), least: k.toHalf(least), codes };
}

/** Bits of the largest magnitude: those of f32 have the order of their numbers, NaN last. */
function largestMagnitude(k: Emitter, values: readonly F32[]): U32 {
  return values.map((value) => magnitudeOf(k, k.bitcast("u32", value))).reduce((a, b) => k.max(a, b));
}

function magnitudeOf(k: Emitter, bits: U32): U32 {
  return k.and(bits, 0x7fffffff);
}

/** `1 / d`, and 0 for 0. */
function inverseOf(k: Emitter, d: F32): F32 {
  const isZero = k.compare("eq", magnitudeOf(k, k.bitcast("u32", d)), 0);
  return k.select(isZero, k.constant("f32", 0), k.divRounded(k.constant("f32", 1), d));
}

/** Bits of a scale as f16; of NaN if the largest magnitude of the block is not finite. */
function scaleBits(k: Emitter, magnitude: U32, d: F32): U32 {
  return k.select(k.compare("lt", magnitude, 0x7f800000), k.toHalf(d), 0x7e00);
}

/** `floor(x)` up to `max`, for x from 0 to below 64. */
function codeOf(k: Emitter, x: F32, max: number): U32 {
  // The lowest bits of the mantissa of 2^23 and a whole number are that number.
  return k.min(k.and(k.bitcast("u32", k.add(k.floor(x), 2 ** 23)), 63), max);
}

/** The halves of 16 bytes: byte i has the low four bits of codes i and i + 16. */
function nibbles(k: Emitter, codes: readonly U32[]): readonly U32[] {
  const low = codes.map((code) => k.and(code, 15));
  const bytes = low.slice(0, 16).map((code, i) => k.or(code, k.shiftLeft(elementAt(low, i + 16), 4)));
  return pairs(bytes, (first, second) => k.or(first, k.shiftLeft(second, 8)));
}

/** The halves of a mask of the fifth bits of 32 codes. */
function fifthBits(k: Emitter, codes: readonly U32[]): readonly U32[] {
  return [0, 16].map((from) =>
    codes
      .slice(from, from + 16)
      .map((code, i) => (i === 0 ? k.shiftRight(code, 4) : k.shiftLeft(k.shiftRight(code, 4), i)))
      .reduce((a, b) => k.or(a, b)),
  );
}

function pairs<T>(list: readonly T[], joined: (first: T, second: T) => T): readonly T[] {
  return Array.from({ length: list.length / 2 }, (_, i) => joined(elementAt(list, 2 * i), elementAt(list, 2 * i + 1)));
}
