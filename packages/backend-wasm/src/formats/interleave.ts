import { elementAt, mapTuple } from "@centella/core/backend";
import { type FunctionBuilder, type I32, i32, i32x4, type Local, type ModuleBuilder, type V128, v128 } from "../emit/index.ts";
import { transposed } from "../kernels/shared/transpose.ts";
import { moveWords } from "./bitExchange.ts";
import { groupRows, halves } from "./block.ts";
import type { Field } from "./field.ts";
import type { GroupFormat } from "./format.ts";
import { type FormatName, formatNames, formatOf } from "./index.ts";

/** Format of a block matrix whose rows are interleaved by eight. Undefined if its bytes are stored as they were loaded. */
export type Interleaving = FormatName | undefined;

/**
 * In a group of eight interleaved rows, each unit of each field of a block is stored for row 0, row 1, … row 7. Some
 * formats also exchange bits. A group has as many bytes as its eight rows, so offsets of rows do not change.
 */

/** Bytes of a row of a matrix in a format. */
export function rowBytesOf(name: FormatName, k: number): number {
  const { elements, bytes } = formatOf(name);
  return (k / elements) * bytes;
}

/** Bytes of a matrix whose rows are interleaved: whole groups. */
export function groupedBytes(name: FormatName, rows: number, k: number): number {
  return Math.ceil(rows / groupRows) * groupRows * rowBytesOf(name, k);
}

/** Emits a function per format that interleaves groups `begin` to `end` of rows. */
export function emitInterleave(module: ModuleBuilder): void {
  const signature = { rows: "i32", to: "i32", rowBytes: "i32", begin: "i32", end: "i32" } as const;
  for (const name of formatNames) {
    const format = formatOf(name);
    module.function(`interleave.${name}`, signature, (f, p) => {
      const groupBytes = f.let(i32.mul(p.rowBytes, groupRows));
      const out = f.let(i32.add(p.to, i32.mul(p.begin, groupBytes)));
      const first = f.let(i32.add(p.rows, i32.mul(p.begin, groupBytes)));
      const rows = f.locals("i32", groupRows);
      const block = f.local("i32");
      f.while(i32.ltU(p.begin, p.end), () => {
        rows.forEach((row, index) => void f.set(row, index === 0 ? first : i32.add(elementAt(rows, index - 1), p.rowBytes)));
        f.for(block, 0, p.rowBytes, format.bytes, () => {
          interleaveBlock(f, format, rows, out);
          for (const row of rows) f.advance(row, format.bytes);
          f.advance(out, groupRows * format.bytes);
        });
        f.advance(first, groupBytes);
        f.advance(p.begin, 1);
      });
    });
  }
}

type Pointer = Local<"i32">;

/** Interleaves a block of each row. */
function interleaveBlock(f: FunctionBuilder, { fields, bitExchange }: GroupFormat, rows: readonly Pointer[], out: Pointer): void {
  let at = 0;
  const places = fields.map((field) => {
    interleaveField(f, field, rows, out, at);
    const place = { first: field.at, end: field.at + field.unit * field.count, at };
    at += groupRows * field.unit * field.count;
    return place;
  });
  if (bitExchange === undefined) return;
  const placeOf = (stretch: number): number => {
    const index = places.findIndex(({ first, end }) => first <= stretch && stretch < end);
    const { first, at: start } = elementAt(places, index);
    return start + groupRows * (stretch - first);
  };
  const moves = bitExchange.moves();
  const word = f.local("i32");
  for (const stretch of bitExchange.stretches) {
    f.for(word, out, i32.add(out, groupRows * bitExchange.bytes), 16, () => {
      const words = stretch.map((start) => f.let(v128.load(word, placeOf(start))));
      moveWords(f, moves, words).forEach((moved, i) => void f.store(word, moved, placeOf(elementAt(stretch, i))));
    });
  }
}

/** Interleaves the units of a field from offset `at` on. */
function interleaveField(f: FunctionBuilder, field: Field, rows: readonly Pointer[], out: Pointer, at: number): void {
  const { unit, count, areBitsTransposed = false } = field;
  const whole = unit === 4 ? count - (count % 4) : 0;
  if (whole > 0) interleaveQuads(f, field, whole / 4, rows, out, at);
  for (let index = whole; index < count; index++) {
    const vectors = unitOf(rows, unit, field.at + index * unit);
    vectors.forEach((vector, i) => {
      const stored = areBitsTransposed ? transposeBits(f, vector) : vector;
      const offset = at + groupRows * index * unit + 16 * i;
      if (unit === 1) f.store64Lane(out, stored, 0, offset);
      else f.store(out, stored, offset);
    });
  }
}

/** Interleaves units of four bytes, four units at a time. */
function interleaveQuads(f: FunctionBuilder, field: Field, count: number, rows: readonly Pointer[], out: Pointer, at: number): void {
  const quad = (from: (row: Pointer) => I32, to: Pointer): void => {
    for (const half of halves) {
      const own = mapTuple([0, 1, 2, 3], (row) => f.let(v128.load(from(elementAt(rows, 4 * half + row)), field.at)));
      transposed(f, own).forEach((words, index) => void f.store(to, words, at + 4 * groupRows * index + 16 * half));
    }
  };
  if (count === 1) {
    quad((row) => row, out);
    return;
  }
  const [offset, to] = [f.local("i32"), f.let(out)];
  f.for(offset, 0, 16 * count, 16, () => {
    quad((row) => i32.add(row, offset), to);
    f.advance(to, 16 * groupRows);
  });
}

/** The vectors with one unit of each row. */
function unitOf(rows: readonly Pointer[], unit: Field["unit"], at: number): readonly V128[] {
  const lanes = 16 / unit;
  const load = { 1: v128.load8Lane, 2: v128.load16Lane, 4: v128.load32Lane }[unit];
  return Array.from({ length: Math.ceil(groupRows / lanes) }, (_, i) =>
    rows.slice(lanes * i, lanes * (i + 1)).reduce((vector, row, lane) => load(row, vector, lane, at), v128.zero()),
  );
}

/** Moves bit `b` of group `j` of the eight groups of four bits to bit `j` of byte `b`. */
function transposeBits(f: FunctionBuilder, words: V128): V128 {
  // Moves bits 0 to 4 of the position of each bit to 3, 4, 0, 1 and 2.
  const swaps = [
    [1, 4],
    [1, 2],
    [0, 1],
    [1, 3],
  ] as const;
  return swaps.reduce((bits, [low, high]) => swapPositions(f, bits, low, high), words);
}

/** Exchanges bits `low` and `high` of the position of each bit. */
function swapPositions(f: FunctionBuilder, words: V128, low: number, high: number): V128 {
  const distance = 2 ** high - 2 ** low;
  const positions = Array.from({ length: 32 }, (_, at) => at).filter((at) => (at >> low) & 1 && !((at >> high) & 1));
  const mask = positions.reduce((bits, at) => bits | (1 << at), 0);
  const bits = f.let(words);
  const changed = f.let(v128.and(v128.xor(bits, i32x4.shrU(bits, distance)), f.splatBits(mask)));
  return v128.xor(v128.xor(bits, changed), i32x4.shl(changed, distance));
}
