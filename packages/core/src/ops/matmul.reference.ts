import { lastOf, tupleOf } from "@centella/quant/checks";
import type { Reference } from "../reference/referenceType.ts";
import { elementCount } from "../spec.ts";
import { broadcastIndex } from "./shared/elementwise.ts";
import { roundingOf, transposedProduct } from "./shared/transposedProduct.ts";

export const matmul: Reference<"matmul"> = ([a, b], { transposeA, transposeB, activations }, y) => {
  const [m, n] = tupleOf(y.spec.shape.slice(-2), 2);
  const k = lastOf(transposeA ? a.spec.shape.slice(0, -1) : a.spec.shape);
  const [ai, ak] = transposeA ? [1, m] : [k, 1];
  const batch = y.spec.shape.slice(0, -2);
  const aBatch = broadcastIndex(a.spec.shape.slice(0, -2), batch);
  const bBatch = broadcastIndex(b.spec.shape.slice(0, -2), batch);
  const [from, to] = [a.data, y.data as Float32Array];
  const row = new Float32Array(k);
  const sums = new Float64Array(n);
  const matrix = b.data as Float32Array;
  const round = roundingOf(b.spec.dtype, activations);
  const rowByRow = (_: Float32Array, at: number): void => {
    round?.(row);
    rowTimesMatrix(row, matrix, at, sums);
  };
  const multiply = transposeB ? transposedProduct(b, activations) : rowByRow;
  for (let s = 0; s < elementCount(batch); s++) {
    const aAt = aBatch(s) * m * k;
    const bAt = bBatch(s) * k * n;
    for (let i = 0; i < m; i++) {
      for (let p = 0; p < k; p++) row[p] = from[aAt + i * ai + p * ak]!;
      multiply(row, bAt, sums);
      to.set(sums, (s * m + i) * n);
    }
  }
};

/** `sums[j] = row [k] . b[:, j]` for the matrix `[k, n]` that starts at element `at` of `b`. Reads `b` row by row. */
function rowTimesMatrix(row: Float32Array, b: Float32Array, at: number, sums: Float64Array): void {
  const n = sums.length;
  sums.fill(0);
  for (let p = 0; p < row.length; p++) {
    const factor = row[p]!;
    const start = at + p * n;
    for (let j = 0; j < n; j++) sums[j] = sums[j]! + factor * b[start + j]!;
  }
}
