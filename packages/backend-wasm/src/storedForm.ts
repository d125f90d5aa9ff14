import {
  type ConcreteSpec,
  type DType,
  elementCount,
  isQuantized,
  type Lowered,
  layoutOf,
  type Persistent,
  type Storage,
} from "@centella/core";
import { dequantize } from "@centella/quant";
import { type FormatName, hasBlockFormat } from "./formats/index.ts";
import { extractRow, groupRows, interleaveRows } from "./formats/interleave.ts";
import type { Target } from "./target.ts";

/**
 * How elements of a dtype lie in WASM memory: block types with kernels stay as they are, other block types are decoded to f32 on the
 * way in.
 */
export function memoryDType(dtype: DType): DType {
  return !isQuantized(dtype) || hasBlockFormat(dtype) ? dtype : "f32";
}

/** Bytes of a tensor in WASM memory, of which `stored` is the dtype there. */
export function memoryBytes({ shape }: ConcreteSpec, stored: DType): number {
  const { elements, bytes } = layoutOf(stored);
  return (elementCount(shape) / elements) * bytes;
}

/** Writes stored bytes (whole blocks of `dtype`) at an address, decoded if memory holds another form. Returns the bytes written. */
export function writeStored(dtype: DType, bytes: Uint8Array, u8: Uint8Array, address: number): number {
  if (!isQuantized(dtype) || memoryDType(dtype) === dtype) {
    u8.set(bytes, address);
    return bytes.length;
  }
  const { elements, bytes: blockBytes } = layoutOf(dtype);
  const count = (bytes.length / blockBytes) * elements;
  dequantize(dtype, bytes, new Float32Array(u8.buffer, address, count));
  return 4 * count;
}

/** The block format whose rows a persistent interleaves, or undefined where its bytes lie as they were loaded. */
export type Interleaving = FormatName | undefined;

/** Which persistents are interleaved, chosen from all uses in all programs: weights that kernels with 8-bit dot products multiply with. */
export function chooseInterleaving(persistent: Persistent, programs: readonly Lowered[], target: Target): Interleaving {
  const { spec } = persistent;
  if (!target.relaxed || !hasBlockFormat(spec.dtype) || !programs.every((lowered) => isReadableInterleaved(persistent, lowered)))
    return undefined;
  const isMultiplied = programs.some((lowered) =>
    lowered.steps.some(
      ({ op, inputs, params }) =>
        op.name === "matmul" &&
        inputs[1] !== undefined &&
        isOf(persistent, inputs[1].storage) &&
        (params as { activations?: string }).activations === "ggml",
    ),
  );
  return isMultiplied ? spec.dtype : undefined;
}

/** Whether every use in a program can read interleaved rows: products with the transposed matrix, and lookups of rows. */
export function isReadableInterleaved(persistent: Persistent, { steps, outputs }: Lowered): boolean {
  const { shape } = persistent.spec;
  if (shape.length !== 2 || outputs.some(({ operand }) => isOf(persistent, operand.storage))) return false;
  return steps.every(({ op, inputs, params, output }) => {
    if (isOf(persistent, output.storage)) return false;
    return inputs.every((operand, index) => {
      if (operand === undefined || !isOf(persistent, operand.storage)) return true;
      if (operand.spec.shape.join() !== shape.join()) return false;
      if (op.name === "embedding") return index === 0;
      return op.name === "matmul" && index === 1 && (params as { transposeB: boolean }).transposeB;
    });
  });
}

function isOf({ name }: Persistent, { definition }: Storage): boolean {
  return definition.kind === "persistent" && definition.name === name;
}

/** Bytes of a row of a matrix in blocks. */
export function rowBytesOf(dtype: FormatName, k: number): number {
  const { elements, bytes } = layoutOf(dtype);
  return (k / elements) * bytes;
}

/** Writes whole groups of rows, or the rest of the rows after them, interleaved. */
export function writeInterleaved(dtype: FormatName, rowBytes: number, bytes: Uint8Array, u8: Uint8Array, address: number): void {
  const even = bytes.byteOffset % 2 === 0 ? bytes : bytes.slice();
  interleaveRows(dtype, rowBytes, even, u8.subarray(address, address + bytes.length));
}

/** Copies row `row` of `rows` interleaved ones from `address` on, as it was loaded, to `to`. */
export function readInterleavedRow(dtype: FormatName, row: number, rows: number, u8: Uint8Array, address: number, to: Uint8Array): void {
  const rowBytes = to.length;
  const lane = row % groupRows;
  const first = address + (row - lane) * rowBytes;
  if (row - lane + groupRows > rows) to.set(u8.subarray(address + row * rowBytes, address + (row + 1) * rowBytes));
  else extractRow(dtype, u8.subarray(first, first + groupRows * rowBytes), lane, to);
}
