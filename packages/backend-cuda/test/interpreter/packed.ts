import { bfloatToFloat, floatToHalf, halfToFloat } from "@centella/quant";
import { Fault } from "./memory.ts";

const scratch = new DataView(new ArrayBuffer(4));

/** `lop3`: bit n of the table is the result for the bits of a, b, c that write n in binary. */
export function logic3(a: number, b: number, c: number, table: number): number {
  let result = 0;
  for (let n = 0; n < 8; n++) if ((table >> n) & 1) result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  return result >>> 0;
}

/** `prmt` without the bit that repeats a sign. */
export function pickBytes(a: number, b: number, selector: number): number {
  let result = 0;
  for (let i = 0; i < 4; i++) {
    const from = (selector >> (4 * i)) & 15;
    const sign = from & 8 ? -(((from & 4 ? b : a) >>> (8 * (from & 3) + 7)) & 1) & 255 : undefined;
    const byte = sign ?? ((from & 4 ? b : a) >>> (8 * (from & 3))) & 255;
    result |= byte << (8 * i);
  }
  return result >>> 0;
}

/** `dp4a` of signed bytes. */
export function dotBytes(a: number, b: number, sum: number): number {
  for (let shift = 0; shift < 32; shift += 8) sum += ((a << (24 - shift)) >> 24) * ((b << (24 - shift)) >> 24);
  return sum | 0;
}

/** Both halves of words as f16: `combine` of exact numbers, each result rounded once. */
export function ofPairs(combine: (a: number, b: number, c: number) => number, a: number, b: number, c = 0): number {
  const half = (shift: number): number => {
    const [x, y, z] = [a, b, c].map((word) => halfToFloat((word >>> shift) & 65535)) as [number, number, number];
    return floatToHalf(combine(x, y, z)) << shift;
  };
  return (half(0) | half(16)) >>> 0;
}

/** `a * b + c` of numbers of f16 as the f32 that rounds to f16 as the exact number does: cut off, with the last bit set where that is not exact. */
export function oddFma(a: number, b: number, c: number): number {
  const product = a * b;
  const sum = product + c;
  const part = sum - product;
  const error = product - (sum - part) + (c - part);
  const nearest = Math.fround(sum);
  const excess = nearest - sum - error;
  if (excess === 0 || !Number.isFinite(nearest)) return nearest;
  scratch.setFloat32(0, nearest);
  const cut = scratch.getInt32(0) - (excess > 0 === nearest > 0 ? 1 : 0);
  scratch.setInt32(0, cut | 1);
  return scratch.getFloat32(0);
}

/** A lane's registers of a matrix product: four of the left matrix, two of the right one, four sums. */
type Parts = readonly number[];

/** How the words of lanes hold a matrix product's operands, `a [16, depth]` and `b [depth, 8]`. */
interface ProductForm {
  readonly depth: number;
  /** Elements of a word, which follow each other along the depth. */
  readonly perWord: number;
  /** Element `index` of a word. */
  readonly value: (word: number, index: number) => number;
  readonly sum: (exact: number) => number;
}

const halves = (toFloat: (bits: number) => number): ProductForm => ({
  depth: 16,
  perWord: 2,
  value: (word, index) => toFloat((word >>> (16 * index)) & 65535),
  sum: Math.fround,
});

/** Sources: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", "... for mma.m16n8k8" and "... for mma.m16n8k32". */
const productForms: Readonly<Record<string, ProductForm>> = {
  f16: halves(halfToFloat),
  bf16: halves(bfloatToFloat),
  tf32: { depth: 8, perWord: 1, value: tf32ToFloat, sum: Math.fround },
  s8: { depth: 32, perWord: 4, value: (word, index) => (word << (24 - 8 * index)) >> 24, sum: (exact) => exact | 0 },
};

/**
 * A lane's four elements of `a * b + c`. With g = lane / 4 and t = lane % 4, lanes hold these words: of `a` row g from element t * perWord, row g + 8 from
 * there, row g from half the depth further, row g + 8 from there; of `b` column g from element t * perWord, and from half the depth further; of `c` and the
 * result row g, columns 2t and 2t + 1, then row g + 8.
 */
export function multiply(type: string, held: readonly Parts[], thread: number): readonly number[] {
  const { depth, perWord, value, sum } = productForms[type]!;
  const first = thread & ~31;
  const element = (line: number, k: number, register: number): number => {
    const inHalf = k % (depth / 2);
    return value(held[first + line * 4 + Math.floor(inHalf / perWord)]![register]!, inHalf % perWord);
  };
  const isUpper = (k: number): number => (k < depth / 2 ? 0 : 1);
  const left = (row: number, k: number): number => element(row & 7, k, (row >> 3) + 2 * isUpper(k));
  const right = (k: number, column: number): number => element(column, k, 4 + isUpper(k));
  const [g, t] = [(thread & 31) >> 2, thread & 3];
  return [0, 1, 2, 3].map((i) => {
    const [row, column] = [g + 8 * (i >> 1), 2 * t + (i & 1)];
    let exact = held[thread]![6 + i]!;
    for (let k = 0; k < depth; k++) exact += left(row, k) * right(k, column);
    return sum(exact);
  });
}

/** Bits of an f32 that tf32 lacks. */
const tf32Rest = 0x1fff;

/** @throws {Fault} for bits that tensor cores would drop: the number was not rounded */
function tf32ToFloat(bits: number): number {
  if ((bits & tf32Rest) !== 0) throw new Fault("an operand of a product of tf32 that is not rounded to it");
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
}

/** `cvt.rna.tf32.f32`: to 11 significant bits, halves away from zero. */
export function toTf32(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  return ((Number.isFinite(value) ? bits + (tf32Rest + 1) / 2 : bits) & ~tf32Rest) >>> 0;
}
