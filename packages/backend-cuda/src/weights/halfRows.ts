import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxBuilder } from "../ptx/builder.ts";
import type { Shared } from "../ptx/types.ts";

/**
 * Rows of 64 halves as products of warpgroups read them: piece i of 16 bytes of row r is at place `i ^ (r % 8)` of the row. Panels and units of f16 and
 * bf16 consist of such rows.
 */
export const rowHalves = 64;

export const halfRowBytes: number = 2 * rowHalves;

/** Byte of a row at which piece `piece`, 0 to 7, starts. */
export function pieceOffset(k: PtxBuilder, row: U32, piece: U32): U32 {
  return k.shiftLeft(k.swizzledPiece(row, piece), 4);
}

/**
 * Row of a panel or a unit, among 16, of a weight's row g below 8; that of row g + 8 is four further. A lane's sums of two neighbouring groups of
 * eight columns are those of places 2t and 2t + 1 of each. In this order they are sums of columns 4t to 4t + 3, which it stores at once.
 */
export function rowPlace(k: PtxBuilder, row: U32): U32 {
  const group = k.shiftLeft(k.and(k.shiftRight(row, 1), 1), 3);
  const pair = k.shiftLeft(k.shiftRight(row, 2), 1);
  return k.or(group, k.or(pair, k.and(row, 1)));
}

/**
 * Place of a weight among the halves of a unit of f16 or bf16. Row r is at {@link rowPlace}. In a row, weight `16 c + 4 t + e` is number
 * `16 t + 4 c + e`: what a lane has of four chunks is two neighbouring pieces. Activations that are multiplied with units have the same order.
 */
export function halfPlace(row: number, weight: number): number {
  const place = 8 * ((row >> 1) & 1) + 2 * (row >> 2) + (row & 1);
  const [chunk, part, element] = [weight >> 4, (weight >> 2) & 3, weight & 3];
  const piece = 2 * part + (chunk >> 1);
  return rowHalves * place + 8 * (piece ^ (place & 7)) + 4 * (chunk & 1) + element;
}

/** Byte of a unit of f16 or bf16 at which four weights of a row start, number `quad` of 16. See {@link halfPlace}. */
export function quadOffset(k: PtxBuilder, row: U32, quad: U32): U32 {
  const chunk = k.shiftRight(quad, 2);
  const piece = k.mad(k.and(quad, 3), 2, k.shiftRight(chunk, 1));
  const place = placeOfRow(k, row);
  return k.add(k.mad(place, halfRowBytes, pieceOffset(k, place, piece)), k.shiftLeft(k.and(chunk, 1), 3));
}

/** Row of a unit, among 16, of a weight's row `row`. */
function placeOfRow(k: PtxBuilder, row: U32): U32 {
  return k.mad(k.shiftRight(row, 3), 4, rowPlace(k, k.and(row, 7)));
}

/**
 * Reads a lane's weights of the unit of f16 or bf16 at `unit`, a multiple of 128 bytes: two words for each chunk of 16, of row g and of row g + 8.
 * `offset` is the {@link quadOffset} of row g and of the lane's four weights of the first chunk.
 */
export function loadLaneHalves(k: PtxBuilder, unit: Shared<"u32">, offset: U32): (chunk: number, high: 0 | 1) => readonly U32[] {
  const first: Shared<"u32"> = k.sharedAtBytes(unit, offset);
  const pieceAt = (bits: number): Shared<"u32"> => k.xor(first as string as U32, bits) as string as Shared<"u32">;
  // Row g + 8 is four places further: its pieces are swizzled otherwise by four.
  const rows = [0, 1].map((high) =>
    [0, 1].map((odd) => {
      const bits = 16 * odd + 64 * high;
      return k.ldVector("u32", bits === 0 ? first : pieceAt(bits), high * halfRowBytes);
    }),
  );
  return (chunk, high) => elementAt(elementAt(rows, high), chunk >> 1).slice(2 * (chunk & 1), 2 * (chunk & 1) + 2);
}
