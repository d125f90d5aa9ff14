import type { DType } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Global } from "../../ptx/types.ts";
import type { Scope } from "../shared/kernel.ts";
import type { AttentionSizes } from "./problem.ts";

/**
 * Elements of a row that a lane reads at once: `count` from `first + stride * i` on. For keys and queries i is the lane's part, 0 to 3; for
 * values it is its row, 0 to 7. The order in which a product takes the elements of its depth does not matter, so a lane takes neighbours.
 */
export interface Piece {
  readonly first: number;
  readonly stride: number;
  readonly count: 2 | 4 | 8;
}

/**
 * Pieces of a key. Those of eight elements are for two matrix products, those of four for one. `isStrided`: the lane's pieces are neighbours in
 * pairs, so that lanes that read rows of shared memory together meet no bank twice.
 */
export function keyPieces(width: number, isStrided: boolean): readonly Piece[] {
  const pieces: Piece[] = [];
  let first = 0;
  for (; isStrided && width - first >= 64; first += 64)
    pieces.push({ first, stride: 16, count: 8 }, { first: first + 8, stride: 16, count: 8 });
  for (; width - first >= 32; first += 32) pieces.push({ first, stride: 8, count: 8 });
  if (first < width) pieces.push({ first, stride: 4, count: 4 });
  return pieces;
}

/** Pieces of a value: each has as many matrix products as elements. */
export function valuePieces(width: number): readonly Piece[] {
  const pieces: Piece[] = [];
  let first = 0;
  for (const count of [8, 4, 2] as const)
    for (; width - first >= 8 * count; first += 8 * count) pieces.push({ first, stride: count, count });
  return pieces;
}

/** Elements that the matrix products of a key or a query take from a piece: words of the first product, then of the second one. */
export function productWords(words: readonly U32[]): readonly (readonly [U32, U32])[] {
  return Array.from({ length: words.length / 2 }, (_, i) => [elementAt(words, 2 * i), elementAt(words, 2 * i + 1)]);
}

/** The words of the right matrices, one for each element of a piece, whose depth is the positions of four rows of values. */
export function valueFragments(k: PtxEmitter, rows: readonly (readonly U32[])[], count: number): readonly (readonly [U32, U32])[] {
  const pair = (first: number, i: number): U32 => {
    const [a, b] = [elementAt(elementAt(rows, first), i >> 1), elementAt(elementAt(rows, first + 1), i >> 1)];
    return k.pickBytes(a, b, (i & 1) === 0 ? 0x5410 : 0x7632);
  };
  return Array.from({ length: count }, (_, i) => [pair(0, i), pair(2, i)]);
}

/** A head of the cache, and the first element of its values that a block takes. Default: the first one. */
export interface CacheHead {
  readonly kvHead: U32;
  readonly valueFirst?: U32 | undefined;
}

/** Rows of the cache in global memory, read as f16. */
export class CacheRows {
  readonly #k: PtxEmitter;
  readonly #dtype: DType;
  readonly #rowElements: number;
  readonly #widths: Pick<AttentionSizes, "keyWidth" | "valueWidth">;
  readonly #head: U32;
  readonly #valueFirst: U32 | undefined;

  constructor(
    { k }: Scope,
    dtype: DType,
    { kvHeads, keyWidth, valueWidth, valueBlocks }: AttentionSizes,
    { kvHead, valueFirst }: CacheHead,
  ) {
    this.#k = k;
    this.#dtype = dtype;
    this.#widths = { keyWidth, valueWidth };
    const width = keyWidth + valueWidth * valueBlocks;
    this.#rowElements = kvHeads * width;
    this.#head = k.mul(kvHead, width);
    this.#valueFirst = valueFirst;
  }

  /** Whether rows are read without conversion. */
  get areHalves(): boolean {
    return this.#dtype === "f16";
  }

  /** Where element `from` of the row `down` slots after a slot is. Only for rows of halves. */
  at(slot: U32, from: U32, down = 0): Global<"u32"> {
    const k = this.#k;
    const first = k.atBytes<"u32">(k.pointer("cache", "u32"), k.add(k.mad(slot, this.#rowElements, this.#head), from), 2);
    return down === 0 ? first : k.at("u32", first, (down * this.#rowElements) / 2);
  }

  /** Starts to bring what is read of a slot's row to the L2 cache. Only for rows of halves. */
  prefetch(slot: U32): void {
    const k = this.#k;
    const { keyWidth, valueWidth } = this.#widths;
    const isWhole = this.#valueFirst === undefined;
    k.prefetchBulk(this.at(slot, k.constant("u32", 0)), 2 * (isWhole ? keyWidth + valueWidth : keyWidth));
    if (this.#valueFirst !== undefined) k.prefetchBulk(this.at(slot, k.add(this.#valueFirst, keyWidth)), 2 * valueWidth);
  }

  /** Reads pieces of the key in a slot. `index` is the lane's part. */
  keys(slot: U32, pieces: readonly Piece[], index: U32): readonly (readonly U32[])[] {
    return this.read(slot, 0, pieces, index);
  }

  /** Reads pieces of the value in a slot. `index` is the lane's row. */
  values(slot: U32, pieces: readonly Piece[], index: U32): readonly (readonly U32[])[] {
    return this.read(slot, this.#widths.keyWidth, pieces, index, this.#valueFirst);
  }

  /** Reads pieces of a slot's row, `from` elements after its start, or after element `start`. */
  read(slot: U32, from: number, pieces: readonly Piece[], index: U32, start?: U32): readonly (readonly U32[])[] {
    const k = this.#k;
    const first = k.mad(slot, this.#rowElements, this.#head);
    const row = start === undefined ? first : k.add(first, start);
    const starts = new Map<number, U32>();
    const pointers = new Map<number, Global<"u32">>();
    return pieces.map(({ first, stride, count }) => {
      const start = starts.get(stride) ?? k.mad(index, stride, row);
      starts.set(stride, start);
      const at = from + first;
      if (this.#dtype !== "f16") return this.#rounded(k.add(start, at), count);
      const pointer = pointers.get(stride) ?? k.atBytes<"u32">(k.pointer("cache", "u32"), start, 2);
      pointers.set(stride, pointer);
      return count === 2 ? [k.ld("u32", pointer, at / 2)] : k.ldVector("u32", pointer, at / 2, count === 8 ? 4 : 2);
    });
  }

  #rounded(at: U32, count: number): readonly U32[] {
    const k = this.#k;
    const quads = Array.from({ length: count / 4 }, (_, i) => k.loadVector("cache", k.add(at, 4 * i))).flat();
    const values = count === 2 ? [k.load("cache", at), k.load("cache", k.add(at, 1))] : quads;
    return Array.from({ length: count / 2 }, (_, i) => k.roundPair("f16", elementAt(values, 2 * i), elementAt(values, 2 * i + 1)));
  }
}
