import { bfloatToFloat, floatToHalf, halfToFloat } from "@centella/quant";

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
  odd.setFloat32(0, nearest);
  const cut = odd.getInt32(0) - (excess > 0 === nearest > 0 ? 1 : 0);
  odd.setInt32(0, cut | 1);
  return odd.getFloat32(0);
}

const odd = new DataView(new ArrayBuffer(4));

/** A lane's registers of a matrix product: four of the left matrix, two of the right one, four sums. */
type Parts = readonly number[];

/**
 * A lane's four elements of `a [16, 16] * b [16, 8] + c`. Lane 4g + t holds, two halves a word: of `a` row g from column 2t, row g + 8 from
 * column 2t, row g from column 2t + 8, row g + 8 from column 2t + 8; of `b` column g from row 2t, column g from row 2t + 8; of `c` and the
 * result row g, columns 2t and 2t + 1, then row g + 8. Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".
 */
export function multiply(type: "f16" | "bf16", held: readonly Parts[], thread: number): readonly number[] {
  const value = type === "f16" ? halfToFloat : bfloatToFloat;
  const first = thread & ~31;
  const half = (lane: number, register: number, index: number): number => value((held[first + lane]![register]! >>> (16 * index)) & 65535);
  const left = (row: number, k: number): number => half((row & 7) * 4 + ((k & 7) >> 1), (row >> 3) + 2 * (k >> 3), k & 1);
  const right = (k: number, column: number): number => half(column * 4 + ((k & 7) >> 1), 4 + (k >> 3), k & 1);
  const [g, t] = [(thread & 31) >> 2, thread & 3];
  return [0, 1, 2, 3].map((i) => {
    const [row, column] = [g + 8 * (i >> 1), 2 * t + (i & 1)];
    let sum = held[thread]![6 + i]!;
    for (let k = 0; k < 16; k++) sum += left(row, k) * right(k, column);
    return Math.fround(sum);
  });
}
