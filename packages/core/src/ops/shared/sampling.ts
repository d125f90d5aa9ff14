import { multiplyHigh, philox4x32 } from "./philox.ts";

// `sample` weighs candidates with whole numbers: sums are exact in any order, so every device makes the same choice. Only a difference, a
// quotient and a product in f32 come before, and IEEE 754 defines those to the bit.

/** Constants of the arithmetic. */
export interface SamplingConstants {
  /** Bits of an exponent's fraction. */
  readonly fractionBits: number;
  /** `log2(e)` with these bits, as f32. */
  readonly exponentScale: number;
  /** Maximum exponent. Weights are 0 long before it. */
  readonly maxExponent: number;
  /** Bits of a weight. A sum of up to 2^24 weights is below 2^52. */
  readonly weightBits: number;
  /** Coefficients of `2^-x = 1 - x (c1 - x (c2 - x (...)))` for x in [0, 1), times 2^32. The relative error is below 1.1e-8. */
  readonly powerCoefficients: readonly [number, number, number, number, number, number];
}

/** See {@link SamplingConstants}. */
export const samplingConstants: SamplingConstants = {
  fractionBits: 20,
  exponentScale: Math.fround(Math.LOG2E * 2 ** 20),
  maxExponent: 2 ** 30,
  weightBits: 28,
  powerCoefficients: [2977044447, 1031763206, 238367376, 41218952, 5547538, 493577],
};

const { fractionBits, exponentScale, maxExponent, weightBits } = samplingConstants;
const [c1, c2, c3, c4, c5, c6] = samplingConstants.powerCoefficients;

/** Lower temperatures choose the greatest logit. */
export const leastTemperature: number = 2 ** -16;

/** Maximum number of logits in a row: sums of weights stay exact in f64. */
export const maxCandidates: number = 2 ** 24;

/** Weight of a candidate whose logit is `distance`, an f32 from 0, below the greatest: `e^-distance` as a whole number below 2^28. */
export function weightOf(distance: number): number {
  const exponent = Math.min(Math.fround(distance * exponentScale), maxExponent) | 0;
  const whole = exponent >> fractionBits;
  if (whole >= weightBits) return 0;
  const x = (exponent & (2 ** fractionBits - 1)) * 2 ** -fractionBits;
  // Exact: each product has at most 52 bits.
  let sum = c5 - Math.floor(c6 * x);
  sum = c4 - Math.floor(sum * x);
  sum = c3 - Math.floor(sum * x);
  sum = c2 - Math.floor(sum * x);
  sum = c1 - Math.floor(sum * x);
  return (0xffffffff - Math.floor(sum * x)) >>> (32 - weightBits + whole);
}

/** Distance between two logits at a temperature. */
export function distanceOf(greatest: number, logit: number, temperature: number): number {
  return Math.fround(Math.fround(greatest - logit) / Math.fround(temperature));
}

/** Sum of weights that top-p has to reach: `floor(total * topP)`. `topP` is below 1. */
export function topPSum(total: number, topP: number): number {
  return share(total, Math.trunc(Math.max(Math.fround(topP), 0) * 2 ** 32));
}

/** Least weight that min-p keeps. */
export function minPWeight(minP: number): number {
  return minP > 0 ? Math.min(Math.trunc(Math.fround(minP) * 2 ** weightBits), 2 ** weightBits - 1) : 0;
}

/** Sum of weights, in the order of the indices, that the chosen candidate is the first to exceed. */
export function chosenSum(total: number, random: number): number {
  return share(total, random);
}

/** The random u32 of a row: the first word of Philox4x32-10 with the seed as the key and the position as the counter. */
export function randomWord(seed: readonly [low: number, high: number], position: number): number {
  return philox4x32([position >>> 0, 0, 0, 0], [seed[0] >>> 0, seed[1] >>> 0])[0];
}

/** `floor(total * numerator / 2^32)`, exact. */
function share(total: number, numerator: number): number {
  return Math.floor(total / 2 ** 32) * numerator + multiplyHigh(total % 2 ** 32, numerator);
}
