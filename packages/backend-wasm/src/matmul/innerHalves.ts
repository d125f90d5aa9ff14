import { elementAt, lastOf, mapTuple } from "@centella/core/backend";
import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32x4,
  i16x8,
  i32,
  i32x4,
  type Local,
  type ModuleBuilder,
  type V128,
  v128,
} from "../emit/index.ts";
import { widenHalves } from "../formats/half.ts";
import { zip } from "../kernels/shared/zip.ts";
import { madd, type Target } from "../target.ts";
import { halfRows, halvesDepth, halvesPanelBytes, splitWidth as width } from "./halves.ts";
import { emitInnerTiles, inner, packSignature, type TileFunction } from "./inner.ts";
import { laneMask, laneSums } from "./lanes.ts";

/**
 * Products of f32 rows with f16 or bf16 weights that both have k innermost (`x [m, k] · w [n, k]`).
 *
 * Eight weights are widened together: first the even ones, then the odd ones, because two instructions widen either.
 * Rows of `x` are split in the same way. All paths accumulate in the order of inner.ts, except that the partial sums are
 * those by `(k mod 8) / 2`, within each {@link halvesDepth} of k.
 *
 * f16 is widened with an exponent that is too small by 112, and `x` is multiplied with 2^112 when it is split. That is
 * wrong for weights that are not finite, and if an `x` is too large. Rows for which this happens are multiplied again
 * with exact values.
 */

type HalfType = "f16" | "bf16";

/** Even or odd elements. */
type Parity = 0 | 1;

const { tileRows, tileColumns } = inner;

/** Emits the functions below. `tile` multiplies packed panels. */
export function emitInnerHalves(module: ModuleBuilder, target: Target, tile: TileFunction): void {
  emitPack(module, tileRows, "f32");
  for (const dtype of ["f16", "bf16"] as const) {
    emitSplit(module, dtype);
    emitInPlace(module, target, `inner.vector.${dtype}`, dtype, 1);
    emitInPlace(module, target, `inner.fewRows.${dtype}`, dtype, tileRows);
    // Whole groups of even and odd elements.
    const quads = (k: Expr<"i32">): Expr<"i32"> => i32.shl(i32.shrU(i32.add(k, width - 1), 3), 1);
    emitInnerTiles(module, dtype, emitPack(module, tileColumns, dtype), halvesPanelBytes, (f, panel) =>
      f.call(tile, { ...panel, quads: quads(panel.k) }),
    );
  }
}

/** Even and odd elements of eight floats. */
function splitFloats(low: Local<"v128">, high: Local<"v128">): readonly [V128, V128] {
  return [f32x4.shuffle(low, high, [0, 2, 4, 6]), f32x4.shuffle(low, high, [1, 3, 5, 7])];
}

/** Even or odd elements of eight halves, with the exponent off by 112 for f16. */
export function splitHalves(f: FunctionBuilder, dtype: HalfType, halves: V128, parity: Parity): V128 {
  if (dtype === "bf16") return parity === 1 ? v128.and(halves, f.splatBits(0xffff0000)) : i32x4.shl(halves, 16);
  // Both move sign and exponent to their places, with copies of the sign in between.
  const moved = parity === 1 ? i32x4.shrS(halves, 3) : i32x4.dotI16x8(halves, f.splatBits(0x2000));
  return v128.and(moved, f.splatBits(0x8fffe000));
}

/** Even and odd elements of eight halves; exact. */
function widenAll(f: FunctionBuilder, dtype: HalfType, halves: Local<"v128">): readonly [V128, V128] {
  if (dtype === "bf16") return [splitHalves(f, dtype, halves, 0), splitHalves(f, dtype, halves, 1)];
  return [widenHalves(f, i32x4.shrS(i32x4.shl(halves, 16), 16)), widenHalves(f, i32x4.shrS(halves, 16))];
}

/** Masks of even and odd elements below `count`. */
function splitMasks(f: FunctionBuilder, count: Expr<"i32">): readonly [V128, V128] {
  return [laneMask(f, i32.shrU(i32.add(count, 1), 1)), laneMask(f, i32.shrU(count, 1))];
}

/** Loads eight elements of `dtype` at a pointer, even ones and odd ones, exactly. */
function loadAll(f: FunctionBuilder, dtype: "f32" | HalfType, at: Local<"i32">): readonly [V128, V128] {
  return dtype === "f32" ? splitFloats(f.let(v128.load(at)), f.let(v128.load(at, 16))) : widenAll(f, dtype, f.let(v128.load(at)));
}

/** `inner.split.<dtype>(from, to, rows, k)` splits rows of `x` for weights of that type, to {@link splitLength} elements each. */
function emitSplit(module: ModuleBuilder, dtype: HalfType): void {
  module.function(`inner.split.${dtype}`, { from: "i32", to: "i32", rows: "i32", k: "i32" }, (f, { from, to, rows, k }) => {
    const left = f.local("i32");
    f.while(rows, () => {
      f.set(left, k);
      f.while(left, () => {
        const count = f.let(i32.select(i32.ltU(left, width), left, width));
        for (const [i, [value, mask]] of zip(loadAll(f, "f32", from), splitMasks(f, count)).entries()) {
          const masked = v128.and(value, mask);
          f.store(to, dtype === "f16" ? f32x4.mul(masked, f.splat(2 ** 112)) : masked, 16 * i);
        }
        f.advance(from, i32.shl(count, 2));
        f.advance(to, 4 * width);
        f.set(left, i32.sub(left, count));
      });
      f.advance(rows, -1);
    });
  });
}

/**
 * `inner.pack<R>.<dtype>(from, to, rows, rowBytes, k)` packs panels of `R` rows as f32, four even elements and four
 * odd ones of each row in turn. For dtype f32 it is named `inner.splitPack<R>`. Missing rows repeat the last one; elements
 * beyond `k` are zero.
 */
function emitPack(module: ModuleBuilder, count: number, dtype: "f32" | HalfType): FunctionRef<typeof packSignature, undefined> {
  const name = dtype === "f32" ? `inner.splitPack${count}` : `inner.pack${count}.${dtype}`;
  return module.function(name, packSignature, (f, { from, to, rows, rowBytes, k }) => {
    const pointers = f.locals("i32", count);
    const [last, left] = f.locals("i32", 2);
    const masks = splitMasks(f, i32.and(k, width - 1));
    const step = (masked: (value: V128, i: number) => V128): void => {
      pointers.forEach((pointer, row) => {
        loadAll(f, dtype, pointer).forEach((value, i) => void f.store(to, masked(value, i), 16 * (count * i + row)));
        f.advance(pointer, dtype === "f32" ? 4 * width : 2 * width);
      });
      f.advance(to, 4 * width * count);
    };
    f.while(rows, () => {
      f.set(last, i32.sub(rows, 1));
      pointers.forEach((pointer, row) => void f.set(pointer, i32.add(from, i32.mul(i32.select(i32.ltU(row, last), row, last), rowBytes))));
      f.set(left, k);
      f.while(i32.geU(left, width), () => {
        step((value) => value);
        f.advance(left, -width);
      });
      f.if(left, () => step((value, i) => v128.and(value, elementAt(masks, i))));
      f.advance(from, i32.mul(rowBytes, count));
      f.countDown(rows, count);
    });
  });
}

/**
 * Emits `name(w, x, y, rows, rowBytes, k, split, tokens, yBytes)`, which computes `y[token, row] = w[row] · x[token]`.
 * `split` has the rows of `x` as `inner.split` writes them. `tile` tokens are multiplied with four rows of `w` at a
 * time. Rows that are read together are a quarter of all rows apart: each stream continues where its last row ended, and
 * the processor prefetches across rows. Further tokens find the rows in the cache.
 */
function emitInPlace(module: ModuleBuilder, target: Target, name: string, dtype: HalfType, tile: 1 | 2): void {
  const signature = {
    w: "i32",
    x: "i32",
    y: "i32",
    rows: "i32",
    rowBytes: "i32",
    k: "i32",
    split: "i32",
    tokens: "i32",
    yBytes: "i32",
  } as const;
  module.function(name, signature, (f, { w, x, y, rows, rowBytes, k, split, tokens, yBytes }) => {
    const [count, index] = f.locals("i32", 2);
    const [streams, results] = mapTuple([0, 1], () => f.locals("i32", halfRows));
    const [token, from, splitFrom] = f.locals("i32", 3);
    const [xBytes, splitBytes] = [f.let(i32.shl(k, 2)), f.let(i32.shl(i32.and(i32.add(k, width - 1), -width), 2))];
    const totals = f.locals("v128", tile);
    f.while(rows, () => {
      f.set(count, i32.shrU(rows, Math.log2(halfRows)));
      for (const [i, [stream, result]] of zip(streams, results).entries()) {
        // Of fewer rows than streams, the last one repeats.
        const last = i32.sub(rows, 1);
        f.set(index, i32.select(count, i32.mul(count, i), i32.select(i32.ltU(i, last), i, last)));
        f.set(stream, i32.add(w, i32.mul(index, rowBytes)));
        f.set(result, i32.add(y, i32.shl(index, 2)));
      }
      f.set(index, i32.select(count, i32.mul(count, halfRows), rows));
      f.advance(w, i32.mul(index, rowBytes));
      f.advance(y, i32.shl(index, 2));
      f.set(rows, i32.sub(rows, index));
      f.set(count, i32.select(count, count, 1));
      f.while(count, () => {
        f.set(token, tokens);
        f.set(from, x);
        f.set(splitFrom, split);
        f.set(index, i32.const(0));
        f.while(token, () => {
          addProducts(f, target, dtype, { streams, from, splitFrom, xBytes, splitBytes, k, tokens: token, totals });
          for (const [i, total] of totals.entries()) {
            f.if(i32.gtU(token, i), () => {
              results.forEach((result, lane) => void f.store32Lane(i32.add(result, index), total, lane));
              f.advance(index, yBytes);
            });
          }
          f.advance(from, i32.mul(xBytes, tile));
          f.advance(splitFrom, i32.mul(splitBytes, tile));
          f.countDown(token, tile);
        });
        for (const stream of streams) f.advance(stream, rowBytes);
        for (const result of results) f.advance(result, 4);
        f.advance(count, -1);
      });
    });
  });
}

/** What {@link addProducts} multiplies. */
interface Operands {
  /** Rows of `w`. */
  readonly streams: readonly Local<"i32">[];
  /** The first row of `x`, the same row split, and the bytes of either. */
  readonly from: Local<"i32">;
  readonly splitFrom: Local<"i32">;
  readonly xBytes: Local<"i32">;
  readonly splitBytes: Local<"i32">;
  readonly k: Local<"i32">;
  /** Rows of `x`. If they are less than the totals, the first one repeats. */
  readonly tokens: Local<"i32">;
  /** By row of `x`; lanes are rows of `w`. */
  readonly totals: readonly Local<"v128">[];
}

/** Sets the totals to the products of rows, computed again with exact values if those of split rows are not finite. */
function addProducts(f: FunctionBuilder, target: Target, dtype: HalfType, operands: Operands): void {
  const { streams, from, splitFrom, xBytes, splitBytes, k, tokens, totals } = operands;
  const [froms, splits] = mapTuple([0, 1], () => totals.map(() => f.local("i32")));
  const pointers = streams.map(() => f.local("i32"));
  const [block, left] = f.locals("i32", 2);
  const splitMask = f.let(i32.const(-width));
  const largest = f.local("v128");
  const next = (first: Expr<"i32">, bytes: Expr<"i32">, i: number): Expr<"i32"> =>
    i === 0 ? first : i32.add(first, i32.select(i32.gtU(tokens, i), bytes, 0));
  f.loop((again) => {
    for (const [pointer, stream] of zip(pointers, streams)) f.set(pointer, stream);
    froms.forEach((pointer, i) => void f.set(pointer, next(from, xBytes, i)));
    splits.forEach((pointer, i) => void f.set(pointer, next(splitFrom, splitBytes, i)));
    for (const vector of [...totals, largest]) f.set(vector, v128.zero());
    f.set(left, k);
    f.while(left, () => {
      f.set(block, i32.select(i32.ltU(left, halvesDepth), left, halvesDepth));
      f.set(left, i32.sub(left, block));
      addBlock(f, target, dtype, { pointers, froms, splits, block, splitMask, totals, largest });
    });
    if (dtype === "bf16") return;
    const isWrong = f.let(i32.and(i32.ne(splitMask, 0), v128.anyTrue(notFinite(f, largest, totals))));
    f.set(splitMask, i32.const(0));
    f.brIf(again, isWrong);
  });
}

/** What {@link addBlock} multiplies. All pointers advance. */
interface Block {
  /** The rows of `w`. */
  readonly pointers: readonly Local<"i32">[];
  /** Rows of `x`, and the same rows split. */
  readonly froms: readonly Local<"i32">[];
  readonly splits: readonly Local<"i32">[];
  /** Number of elements; 0 afterwards. */
  readonly block: Local<"i32">;
  /** Bits of the number of elements that are multiplied with split rows; 0 for exact products. */
  readonly splitMask: Local<"i32">;
  /** By row of `x`; lanes are rows of `w`. */
  readonly totals: readonly Local<"v128">[];
  /** The largest magnitudes among f16 weights. */
  readonly largest: Local<"v128">;
}

/** Adds the products of the next `block` elements to the totals. */
function addBlock(
  f: FunctionBuilder,
  target: Target,
  dtype: HalfType,
  { pointers, froms, splits, block, splitMask, totals, largest }: Block,
): void {
  const whole = f.let(i32.and(block, splitMask));
  const sums = totals.map(() => f.locals("v128", halfRows));
  const add = (row: number, values: readonly V128[], weights: V128): void => {
    for (const [list, value] of zip(sums, values)) f.set(elementAt(list, row), madd(target, weights, value, elementAt(list, row)));
  };
  for (const sum of sums.flat()) f.set(sum, v128.zero());
  for (const pointer of froms) f.advance(pointer, i32.shl(whole, 2));
  f.set(block, i32.sub(block, whole));
  f.while(whole, () => {
    // For a second token there are no registers to keep the weights and all of `x`: weights are loaded twice.
    for (const parities of splits.length === 1 ? [[0, 1] as const] : [[0] as const, [1] as const]) {
      const values = parities.map((parity) => splits.map((pointer) => f.let(v128.load(pointer, 16 * parity))));
      for (const [row, pointer] of pointers.entries()) {
        const halves = f.let(v128.load(pointer));
        if (lastOf(parities) === 1 && dtype === "f16") f.set(largest, i16x8.maxS(largest, v128.and(halves, f.splatBits(0x7fff7fff))));
        for (const [parity, xs] of zip(parities, values)) add(row, xs, f.let(splitHalves(f, dtype, halves, parity)));
      }
    }
    for (const pointer of pointers) f.advance(pointer, 2 * width);
    for (const pointer of splits) f.advance(pointer, 4 * width);
    f.advance(whole, -width);
  });
  f.while(block, () => {
    const masks = splitMasks(f, block);
    const load = (type: "f32" | HalfType, at: Local<"i32">): readonly V128[] =>
      zip(loadAll(f, type, at), masks).map(([value, mask]) => f.let(v128.and(value, mask)));
    const values = froms.map((pointer) => load("f32", pointer));
    const count = f.let(i32.select(i32.ltU(block, width), block, width));
    for (const [row, pointer] of pointers.entries()) {
      for (const [parity, weights] of load(dtype, pointer).entries()) {
        const xs = values.map((each) => elementAt(each, parity));
        add(row, xs, weights);
      }
      f.advance(pointer, i32.shl(count, 1));
    }
    for (const pointer of froms) f.advance(pointer, i32.shl(count, 2));
    for (const pointer of splits) f.advance(pointer, 4 * width);
    f.set(block, i32.sub(block, count));
  });
  for (const [total, [s0, s1, s2, s3]] of zip(totals, sums)) f.set(total, f32x4.add(total, laneSums(f, [s0, s1, s2, s3])));
}

/** Not zero if f16 weights of these magnitudes, or any total, are infinite or NaN. */
function notFinite(f: FunctionBuilder, magnitudes: V128, totals: readonly V128[]): V128 {
  const infinite = totals.map((total) => f32x4.ne(f32x4.sub(total, total), v128.zero()));
  return infinite.reduce((any, each) => v128.or(any, each), i16x8.gtS(magnitudes, f.splatBits(0x7bff7bff)));
}
