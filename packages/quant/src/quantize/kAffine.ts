import { clamp, f32, importanceWeights, sumOfSquares } from "../floats/float32.ts";
import { floatToHalf, halfToFloat } from "../floats/half.ts";
import { type AffineScale, affineScale, importanceSearch, type ScaleSearch } from "./affineScale.ts";
import { positiveScale } from "./positiveScale.ts";
import { nearestInt, toWhole } from "./rounding.ts";

/** Differences between q2_K, q4_K and q5_K, which store 256 weights in groups with `w = d * scale * q - dmin * min`. */
export interface AffineFormat {
  readonly groupSize: 16 | 32;
  /** Largest code of a weight. */
  readonly max: number;
  /** Largest code of a group's scale and minimum. */
  readonly maxScale: number;
  readonly search: ScaleSearch;
  /** Factor of the block's mean square in the weights of the errors, with an importance matrix. */
  readonly varianceFactor: number;
  /** Writes the weights of the errors of the group that starts at `from`, without an importance matrix. */
  readonly plainWeights: (x: Float32Array, from: number, weights: Float32Array) => void;
}

/** The numbers of a block before they are packed. */
export interface AffineBlock {
  readonly codes: Uint8Array;
  readonly scales: Uint8Array;
  readonly mins: Uint8Array;
  /** Bits of an f16. */
  d: number;
  dmin: number;
}

/** Weights of q4_K and q5_K: `|x| + sqrt(mean(x^2))`. */
export function magnitudeWeights(x: Float32Array, from: number, weights: Float32Array): void {
  const average = f32(Math.sqrt(f32(sumOfSquares(x, from, 32) / 32)));
  for (let i = 0; i < 32; i++) weights[i] = average + Math.abs(x[from + i]!);
}

const values = new Float32Array(256);
const weights = new Float32Array(32);
const scales = new Float32Array(16);
const mins = new Float32Array(16);
const groupWeights = new Float32Array(16);
const found: AffineScale = { scale: 0, min: 0 };
const block: AffineBlock = { codes: new Uint8Array(256), scales: new Uint8Array(16), mins: new Uint8Array(16), d: 0, dmin: 0 };

/**
 * Quantises 256 values in three steps: it finds a scale and a minimum for each group, rounds these to multiples of a common `d` and `dmin`,
 * and computes the codes again for the rounded scales. The result is valid until the next call. Source: `quantize_row_q4_K_ref` and `quantize_row_q4_K_impl` of
 * ggml-quants.c, and those of q2_K and q5_K.
 */
export function affineBlock(row: Float32Array, from: number, format: AffineFormat, importance?: Float32Array): Readonly<AffineBlock> {
  const { groupSize, max, maxScale } = format;
  const groups = 256 / groupSize;
  values.set(row.subarray(from, from + 256));
  const local = importance?.subarray(from, from + 256);
  const variance = local === undefined ? 0 : f32(f32(format.varianceFactor * sumOfSquares(values, 0, 256)) / 256);
  for (let group = 0; group < groups; group++) {
    const start = group * groupSize;
    if (local === undefined) {
      format.plainWeights(values, start, weights);
    } else {
      importanceWeights(values, start, groupSize, local, variance, weights);
      let sum = 0;
      for (let i = 0; i < groupSize; i++) sum = f32(sum + weights[i]!);
      groupWeights[group] = sum;
    }
    affineScale(values, start, groupSize, max, weights, local === undefined ? format.search : importanceSearch, block.codes, found);
    scales[group] = found.scale;
    mins[group] = found.min;
  }
  const codeGroups = local === undefined ? proportionalCodes : weightedCodes;
  block.d = floatToHalf(codeGroups(scales, groups, maxScale, block.scales));
  block.dmin = floatToHalf(codeGroups(mins, groups, maxScale, block.mins));
  recode(format, groups);
  return block;
}

/** Writes codes `[0, max]` proportional to `x [n]`, which has no negative values. Returns the value of a code of 1. */
function proportionalCodes(x: Float32Array, n: number, max: number, codes: Uint8Array): number {
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, x[i]!);
  const inverse = largest > 0 ? f32(max / largest) : 0;
  for (let i = 0; i < n; i++) codes[i] = Math.min(max, nearestInt(f32(inverse * x[i]!)));
  return f32(largest / max);
}

function weightedCodes(x: Float32Array, n: number, max: number, codes: Uint8Array): number {
  return positiveScale(x, n, max, groupWeights, codes);
}

/** Computes the codes again for the scales as stored. A group whose scale became zero keeps the codes of its search. */
function recode({ groupSize, max }: AffineFormat, groups: number): void {
  const [d, dmin] = [halfToFloat(block.d), halfToFloat(block.dmin)];
  for (let group = 0; group < groups; group++) {
    const scale = f32(d * block.scales[group]!);
    if (scale === 0) continue;
    const min = f32(dmin * block.mins[group]!);
    for (let i = group * groupSize; i < (group + 1) * groupSize; i++) {
      const exact = Math.fround(Math.fround(values[i]! + min) / scale);
      const code = exact + toWhole - toWhole;
      block.codes[i] = code >= 0 && code <= max ? code : clamp(nearestInt(exact), 0, max);
    }
  }
}

/** Writes `d` and `dmin`. */
export function setHalves(out: Uint8Array, at: number, { d, dmin }: Readonly<AffineBlock>): void {
  out[at] = d & 255;
  out[at + 1] = d >> 8;
  out[at + 2] = dmin & 255;
  out[at + 3] = dmin >> 8;
}
