import { orderKeys, specials, toHalf } from "./module.ts";

/** A function of WGSL and the functions that it calls: blocks that a module declares once. */
type Blocks = readonly string[];

// WGSL rejects constants that are not finite, so infinity comes from a variable.
const infinity = "var<private> infinityBits: u32 = 0x7f800000u;";

/** Declarations for constants that are not finite. */
export const infinite: Blocks = [infinity];
export const isNan: Blocks = [specials];
export const halfOf: Blocks = [toHalf];

/** WGSL does not define the results of its own functions for 0, negative numbers, infinity and NaN. These follow IEEE 754. */
export const expAll: Blocks = [
  specials,
  infinity,
  // Without branches, lanes compute several results side by side.
  `fn expAll(x: f32) -> f32 {
  let finite = exp(clamp(x, -110.0, 88.722839));
  return select(select(finite, bitcast<f32>(infinityBits), x > 88.722839), x, isNan(x));
}`,
];

export const logAll: Blocks = [
  specials,
  infinity,
  `fn logAll(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return bitcast<f32>(infinityBits | 0x80000000u); }
  if (x < 0.0) { return nan(); }
  if (isInfinite(x)) { return x; }
  return log(x);
}`,
];

export const rootAll: Blocks = [
  specials,
  `fn rootAll(x: f32) -> f32 {
  if (isNan(x) || (bitcast<u32>(x) & 0x7fffffffu) == 0u || bitcast<u32>(x) == 0x7f800000u) { return x; }
  if (x < 0.0) { return nan(); }
  return sqrt(x);
}`,
];

/** Comparisons by order keys, in which a NaN is the largest: WGSL's own comparisons may assume that no NaN occurs, and flush denormals. */
export const comparisons: Blocks = [
  specials,
  orderKeys,
  `fn isLess(a: f32, b: f32) -> bool { return keyOf(a) < keyOf(b) && !isNan(b); }
fn isLessOrEqual(a: f32, b: f32) -> bool { return keyOf(a) <= keyOf(b) && !isNan(b); }
fn isEqual(a: f32, b: f32) -> bool { return keyOf(a) == keyOf(b) && !isNan(b); }`,
];

const signedKeys = `// f32 as i32 of the same order, -0 below 0.
fn signedKeyOf(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return bits ^ ((bits >> 31u) & 0x7fffffff);
}`;

export const maximumOf: Blocks = [
  specials,
  signedKeys,
  `fn maximumOf(a: f32, b: f32) -> f32 {
  if (isNan(a)) { return a; }
  if (isNan(b)) { return b; }
  return select(a, b, signedKeyOf(a) < signedKeyOf(b));
}`,
];

export const minimumOf: Blocks = [
  specials,
  signedKeys,
  `fn minimumOf(a: f32, b: f32) -> f32 {
  if (isNan(a)) { return a; }
  if (isNan(b)) { return b; }
  return select(a, b, signedKeyOf(b) < signedKeyOf(a));
}`,
];

const wholeOf = `fn wholeOf(x: f32) -> f32 {
  if (isNan(x) || isInfinite(x)) { return 0.0; }
  return trunc(x);
}`;

export const toInteger: Blocks = [
  specials,
  wholeOf,
  `fn toInteger(x: f32) -> i32 {
  if (isInfinite(x)) { return select(2147483647i, i32(-2147483648), isNegativeInfinity(x)); }
  let whole = wholeOf(x);
  if (whole >= 2147483648.0) { return 2147483647i; }
  if (whole <= -2147483648.0) { return i32(-2147483648); }
  return i32(whole);
}`,
];

export const toUnsigned: Blocks = [
  specials,
  wholeOf,
  `fn toUnsigned(x: f32) -> u32 {
  if (isInfinite(x)) { return select(4294967295u, 0u, isNegativeInfinity(x)); }
  let whole = wholeOf(x);
  if (whole >= 4294967296.0) { return 4294967295u; }
  if (whole <= 0.0) { return 0u; }
  return u32(whole);
}`,
];

export const multiplyHigh: Blocks = [
  `fn multiplyHigh(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u);
}`,
];

/**
 * `a / b`, rounded as IEEE 754 requires. WGSL's own division of the mantissas may be off by 2.5 ULP: its remainder, which wraps around to
 * a few divisors, corrects it.
 */
export const quotient: Blocks = [
  `fn quotient(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a);
  let y = bitcast<u32>(b);
  var exponent = i32((x >> 23u) & 0xffu) - i32((y >> 23u) & 0xffu) + 127;
  if ((x & 0x7f800000u) == 0u || (y & 0x7f800000u) == 0u) { return a / b; }
  var dividend = (x & 0x7fffffu) | 0x800000u;
  let divisor = (y & 0x7fffffu) | 0x800000u;
  if (dividend < divisor) { dividend <<= 1u; exponent--; }
  var q = u32(f32(dividend) / f32(divisor) * 8388608.0);
  var rest = bitcast<i32>((dividend << 23u) - q * divisor);
  let by = i32(divisor);
  let off = i32(floor(f32(rest) / f32(divisor)));
  q += u32(off);
  rest -= off * by;
  if (rest < 0) { q--; rest += by; }
  if (rest >= by) { q++; rest -= by; }
  if (2 * rest > by || (2 * rest == by && (q & 1u) == 1u)) { q++; }
  if (exponent < 1 || exponent > 253) { return a / b; }
  return bitcast<f32>(((x ^ y) & 0x80000000u) | ((u32(exponent) << 23u) + q - 0x800000u));
}`,
];

/**
 * Long division by the mantissa in digits of 20 bits, exact. Digits are estimated in f32, where they may be off by one: the remainder, which
 * wraps around to less than two divisors, corrects them.
 */
export const divideFixed: Blocks = [
  `// Bits place..place + 20 of a number of 96 bits, zeros outside of it.
fn digitAt(whole: u32, high: u32, low: u32, place: i32) -> u32 {
  if (place <= -20 || place >= 96) { return 0u; }
  if (place < 0) { return (low << u32(-place)) & 0xfffffu; }
  let shift = u32(place) & 31u;
  var word = select(select(whole, high, place < 64), low, place < 32) >> shift;
  if (shift > 12u && place < 64) { word |= select(whole, high, place < 32) << (32u - shift); }
  return word & 0xfffffu;
}
fn divideFixed(whole: u32, high: u32, low: u32, by: f32) -> vec2u {
  let bits = bitcast<u32>(by);
  let divisor = (bits & 0x7fffffu) | 0x800000u;
  // The exponent lengthens the dividend by zeros or shortens it.
  let shift = 150 - i32((bits >> 23u) & 0xffu);
  let perDigit = 1048576.0 / f32(divisor);
  var rest = 0u; var first = 0u; var second = 0u;
  for (var at = (95 + shift) / 20 * 20; at >= 0; at -= 20) {
    var digit = u32(f32(rest) * perDigit);
    rest = ((rest << 20u) | digitAt(whole, high, low, at - shift)) - digit * divisor;
    if (bitcast<i32>(rest) < 0) { digit--; rest += divisor; }
    if (rest >= divisor) { digit++; rest -= divisor; }
    first = (first << 20u) | (second >> 12u);
    second = (second << 20u) | digit;
  }
  // A negative divisor negates the fraction.
  if ((bits >> 31u) == 1u) { first = ~first + select(0u, 1u, second == 0u); second = 0u - second; }
  return vec2u(first, second);
}`,
];

/** `fn <name>(q: u32) -> f32`: one of sixteen signed bytes, packed into words: no array is indexed. */
export function codebook(values: readonly number[]): { readonly name: string; readonly text: Blocks } {
  const words = [...new Uint32Array(Int8Array.from(values).buffer)].map((word) => word.toString(16));
  const name = `code_${words.join("_")}`;
  const text = `fn ${name}(q: u32) -> f32 {
  let codes = vec4u(${words.map((word) => `0x${word}u`).join(", ")});
  return f32(bitcast<i32>(codes[q >> 2u] << (24u - (q & 3u) * 8u)) >> 24u);
}`;
  return { name, text: [text] };
}
