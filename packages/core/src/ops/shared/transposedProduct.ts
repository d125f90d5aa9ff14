import { activationSumErrors, blockMinima, isHalf, roundActivations } from "@centella/quant";
import { type DType, isQuantized } from "../../dtype.ts";
import type { HostTensor } from "../../program/op.ts";

/** Precision of a product's activations; see the `matmul` op. */
export type Activations = "f32" | "half" | "ggml";

export const activationModes: readonly Activations[] = ["f32", "half", "ggml"];

/** Rounds a row in place, as the mode demands for weights of the type. Undefined if the row stays exact, as mode "half" permits. */
export function roundingOf(dtype: DType, activations: Activations): ((row: Float32Array) => void) | undefined {
  if (activations !== "ggml" || !(isQuantized(dtype) || isHalf(dtype))) return undefined;
  return (row) => roundActivations(dtype, row, row);
}

/**
 * Returns a function that computes `sums[j] = row [k] . b[j, :]` for the matrix `[n, k]` that starts at element `at` of `b`. Mode
 * "ggml" rounds the row in place.
 */
export function transposedProduct(b: HostTensor, activations: Activations): (row: Float32Array, at: number, sums: Float64Array) => void {
  const { dtype } = b.spec;
  const values = b.data as Float32Array;
  const round = roundingOf(dtype, activations);
  if (round === undefined) return (row, at, sums) => multiply(row, values, at, sums);
  if ((dtype !== "q4_1" && dtype !== "q5_1") || b.stored === undefined) {
    return (row, at, sums) => {
      round(row);
      multiply(row, values, at, sums);
    };
  }
  const minima = blockMinima(dtype, b.stored as Uint8Array);
  return (row, at, sums) => {
    const sumErrors = activationSumErrors(dtype, row);
    round(row);
    multiply(row, values, at, sums);
    if (sumErrors !== undefined) addMinima(sumErrors, minima, at, sums);
  };
}

function multiply(row: Float32Array, b: Float32Array, at: number, sums: Float64Array): void {
  const k = row.length;
  for (let j = 0; j < sums.length; j++) {
    const start = at + j * k;
    let sum = 0;
    for (let p = 0; p < k; p++) sum += row[p]! * b[start + p]!;
    sums[j] = sum;
  }
}

/** Computes `sums[j] += sumErrors [k / 32] . minima[j, :]` for the weights `[n, k]` from `at`: ggml stores rounded sums of activations. */
function addMinima(sumErrors: Float32Array, minima: Float32Array, at: number, sums: Float64Array): void {
  const blocks = sumErrors.length;
  for (let j = 0; j < sums.length; j++) {
    const start = at / 32 + j * blocks;
    for (let block = 0; block < blocks; block++) sums[j] = sums[j]! + sumErrors[block]! * minima[start + block]!;
  }
}
