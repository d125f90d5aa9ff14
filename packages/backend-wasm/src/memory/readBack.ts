import type { ConcreteSpec } from "@centella/core";
import { tupleOf } from "@centella/core/backend";
import { groupRows } from "../formats/block.ts";
import { extractRow } from "../formats/extractRow.ts";
import type { FormatName } from "../formats/index.ts";
import { groupedBytes, rowBytesOf } from "../formats/interleave.ts";
import { outer } from "../matmul/outer.ts";
import type { Matrices } from "./weightLayout.ts";

/** Reads weights back from the layouts that kernels read. Loaded when one is saved. */

/** Reads the rows of interleaved matrices. */
export function readInterleaved(stored: Uint8Array, { count, rows, k }: Matrices, form: FormatName): Uint8Array {
  const rowBytes = rowBytesOf(form, k);
  const saved = new Uint8Array(count * rows * rowBytes);
  for (let matrix = 0; matrix < count; matrix++) {
    for (let row = 0; row < rows; row++) {
      const first = matrix * groupedBytes(form, rows, k) + Math.floor(row / groupRows) * groupRows * rowBytes;
      const to = (matrix * rows + row) * rowBytes;
      extractRow(form, stored.subarray(first, first + groupRows * rowBytes), row % groupRows, saved.subarray(to, to + rowBytes));
    }
  }
  return saved;
}

/** Reads a matrix `[k, n]` from its panels. */
export function readPacked(panels: Float32Array, { shape }: ConcreteSpec): Float32Array<ArrayBuffer> {
  const [k, n] = tupleOf(shape, 2);
  const rows = new Float32Array(k * n);
  for (let row = 0, to = 0; row < k; row++) {
    for (let column = 0; column < n; column++, to++) {
      const lane = column % outer.tileColumns;
      rows[to] = panels[(column - lane) * k + row * outer.tileColumns + lane]!;
    }
  }
  return rows;
}
