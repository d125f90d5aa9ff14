import { mapTuple } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, f64x2, i32, i32x4, i64x2, type Local, type V128, v128 } from "../emit/index.ts";
import { horner, madd, type Target } from "../target.ts";
import { doubleSplat } from "./double.ts";

/** The first 33 bits of pi / 2, and the rest. Products with integers up to 2^20 are exact. */
const [quarterHigh, quarterLow] = [1.5707963267341256, 6.077100506506192e-11];

/** An angle as `r + n pi / 2`, |r| ≤ pi / 4. `isOdd`: n is odd; `isUpper`: n mod 4 is 2 or 3. NaN for infinities. */
export interface ReducedAngle {
  readonly r: Local<"v128">;
  readonly isOdd: Local<"v128">;
  readonly isUpper: Local<"v128">;
}

/** Angles from which f64 is too short for the reduction. */
const large = 2 ** 20;

/** Reduces angles with the accuracy of an f32. */
export function reduceAngle(f: FunctionBuilder, x: Local<"v128">): ReducedAngle {
  const [low, high] = mapTuple([x, f32x4.shuffle(x, x, [2, 3, 2, 3])], (half) => {
    const angle = f.let(f64x2.promoteLowF32x4(half));
    const n = f.let(f64x2.nearest(f64x2.mul(angle, doubleSplat(f, 2 / Math.PI))));
    const rough = f64x2.sub(angle, f64x2.mul(n, doubleSplat(f, quarterHigh)));
    const rest = f64x2.sub(rough, f64x2.mul(n, doubleSplat(f, quarterLow)));
    return { n, rest: f.let(f32x4.demoteF64x2(rest)) };
  });
  const r = f.let(f32x4.shuffle(low.rest, high.rest, [0, 1, 4, 5]));
  // Adding 1.5 * 2^52 moves the low bits of n to the end of the f64.
  const [lowShifted, highShifted] = mapTuple([low, high], ({ n }) => f.let(f64x2.add(n, doubleSplat(f, 1.5 * 2 ** 52))));
  const n = f.let(f32x4.shuffle(lowShifted, highShifted, [0, 2, 4, 6]));
  const isLarge = f.let(f32x4.ge(f32x4.abs(x), f.splat(large)));
  f.if(v128.anyTrue(isLarge), () => {
    const slow = reduceLarge(f, x);
    const hasBound = f32x4.lt(f32x4.abs(x), f.splat(Number.POSITIVE_INFINITY));
    f.set(r, v128.bitselect(isLarge, v128.bitselect(hasBound, slow.r, f.splat(Number.NaN)), r));
    f.set(n, v128.bitselect(isLarge, slow.n, n));
  });
  const bit = (mask: number): Local<"v128"> => f.let(i32x4.ne(v128.and(n, f.splatBits(mask)), v128.zero()));
  return { r, isOdd: bit(1), isUpper: bit(2) };
}

/** 2 / pi in binary after 32 zeros, last byte first, so that 4 bytes form a word. */
const twoOverPi = Uint8Array.of(
  0x41,
  0x90,
  0x43,
  0x3c,
  0x99,
  0x95,
  0x62,
  0xdb,
  0xc0,
  0xdd,
  0x34,
  0xf5,
  0xd1,
  0x57,
  0x27,
  0xfc,
  0x29,
  0x15,
  0x44,
  0x4e,
  0x6e,
  0x83,
  0xf9,
  0xa2,
  0,
  0,
  0,
  0,
);

/**
 * Reduces angles from 2^20 on (Payne and Hanek, 1983). Of 2 / pi, only those 96 bits are multiplied with the mantissa
 * whose products are neither multiples of four quarter turns nor negligible.
 */
function reduceLarge(f: FunctionBuilder, x: Local<"v128">): { readonly r: Local<"v128">; readonly n: Local<"v128"> } {
  const table = f.data(twoOverPi);
  const mantissa = f.let(v128.zero());
  const words = mapTuple([0, 1, 2], () => f.let(v128.zero()));
  for (let lane = 0; lane < 4; lane++) {
    const bits = f.let(i32x4.extract(x, lane));
    // The first relevant bit. Lanes below 2^20 are unused and only need a valid address in the table.
    const exponent = f.let(i32.and(i32.shrU(bits, 23), 255));
    const first = f.let(i32.select(i32.and(i32.geU(exponent, 147), i32.ltU(exponent, 255)), i32.sub(exponent, 120), 27));
    const whole = i32.or(i32.and(bits, 0x7fffff), 0x800000);
    f.set(mantissa, i32x4.replace(mantissa, lane, i32.shl(whole, i32.and(first, 7))));
    const at = f.let(i32.sub(table + twoOverPi.length - 4, i32.shrU(first, 3)));
    words.forEach((word, i) => void f.set(word, v128.load32Lane(i32.sub(at, 4 * i), word, lane)));
  }
  const [w0, w1, w2] = words;
  const fractions = mapTuple([i64x2.extmulLowU, i64x2.extmulHighU], (multiply) =>
    f.let(i64x2.add(i64x2.add(i64x2.shl(multiply(mantissa, w0), 32), multiply(mantissa, w1)), i64x2.shrU(multiply(mantissa, w2), 32))),
  );
  // Quarter turns in the upper two bits, rounded, and the remainder as a signed fraction.
  const half = f.pooled(new Uint8Array(Uint32Array.of(0, 0x20000000, 0, 0x20000000).buffer));
  const [lowRounded, highRounded] = mapTuple(fractions, (fraction) => f.let(i64x2.add(fraction, half)));
  const quarters = f.let(i32x4.shrU(f32x4.shuffle(lowRounded, highRounded, [1, 3, 5, 7]), 30));
  const [lowRest, highRest] = mapTuple(fractions, (fraction) => {
    const rest = f.let(i64x2.shl(fraction, 2));
    const upper = f64x2.convertLowI32x4S(f32x4.shuffle(rest, rest, [1, 3, 1, 3]));
    const lower = f64x2.convertLowI32x4U(f32x4.shuffle(rest, rest, [0, 2, 0, 2]));
    const value = f64x2.add(f64x2.mul(upper, doubleSplat(f, 2 ** 32)), lower);
    return f.let(f32x4.demoteF64x2(f64x2.mul(value, doubleSplat(f, 2 ** -65 * Math.PI))));
  });
  const r = v128.xor(f32x4.shuffle(lowRest, highRest, [0, 1, 4, 5]), v128.and(x, f.splatBits(0x80000000)));
  const isNegative = f32x4.lt(x, v128.zero());
  return { r: f.let(r), n: f.let(v128.bitselect(isNegative, i32x4.neg(quarters), quarters)) };
}

/** Cephes' `sinf` for |r| ≤ pi / 4. */
export function sine(f: FunctionBuilder, target: Target, r: Local<"v128">): Local<"v128"> {
  const z = f.let(f32x4.mul(r, r));
  const p = horner(f, target, z, [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]);
  return f.let(madd(target, f32x4.mul(p, z), r, r));
}

/** Cephes' `cosf` for |r| ≤ pi / 4. */
export function cosine(f: FunctionBuilder, target: Target, r: Local<"v128">): Local<"v128"> {
  const z = f.let(f32x4.mul(r, r));
  const p: V128 = horner(f, target, z, [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5]);
  return f.let(madd(target, p, z, f.splat(1)));
}
