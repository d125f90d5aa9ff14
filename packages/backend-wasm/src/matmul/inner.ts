import { lastOf, mapTuple } from "@centella/core/backend";
import {
  type Expr,
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  i32,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../emit/index.ts";
import { zip } from "../kernels/shared/zip.ts";
import { madd, type Target } from "../target.ts";
import { laneMask, laneSums } from "./lanes.ts";

/**
 * Products of operands that both have k innermost (`x [m, k] · w [n, k]`), as inner products.
 *
 * All paths accumulate in one order. Within each {@link depth} of k there are four partial sums by `k mod 4`, each in
 * order of k, joined as `(s0 + s1) + (s2 + s3)`. These sums are added in order of k to a total that starts at 0. So a
 * row's result does not depend on how many rows are multiplied together.
 */
export const inner = {
  /** Elements of k per block. */
  depth: 512,
  /** Rows of `x` and `w` in a register tile: 12 sums and 2 + 1 operands, of the 15 registers that V8 provides. */
  tileRows: 2,
  tileColumns: 6,
} as const;

const { depth, tileRows, tileColumns } = inner;

/** Rows of `w` that a matrix-vector product reads together, to hide the latency of multiply-adds. */
const vectorRows = 4;

/** Bytes of a packed panel of `w`. */
export const innerPanelBytes: number = 4 * depth * tileColumns;

/** A packed panel of `w` with `k` elements of each row, and what it is multiplied with: see {@link emitTile}. */
export type Panel = { readonly [K in Exclude<keyof typeof tileSignature, "quads"> | "k"]: Expr<"i32"> };

/** Multiplies packed panels: see {@link emitTile}. */
export type TileFunction = FunctionRef<typeof tileSignature, undefined>;

/** Emits `inner.fewRows`, `inner.pack2`, `inner.pack6`, `inner.tile`, `inner.tiles.f32` and `inner.vector.f32`. */
export function emitInner(module: ModuleBuilder, target: Target): TileFunction {
  emitFewRows(module, target);
  emitPack(module, tileRows);
  const tile = emitTile(module, target);
  emitInnerTiles(module, "f32", emitPack(module, tileColumns), innerPanelBytes, (f, panel) =>
    f.call(tile, { ...panel, quads: i32.shrU(i32.add(panel.k, 3), 2) }),
  );
  emitVector(module, target);
  return tile;
}

/**
 * `inner.tiles.<dtype>(a, w, y, n, k, rowBytes, yBytes, rows, first, threadScratch, begin, end)` packs panels `begin`
 * to `end` of `w`, each in the thread's scratch, and adds their products with the packed rows of `a` to `y [rows, n]`.
 * `multiply` calls the tile function for a panel.
 */
export function emitInnerTiles(
  module: ModuleBuilder,
  dtype: "f32" | "f16" | "bf16",
  pack: FunctionRef<typeof packSignature, undefined>,
  panelBytes: number,
  multiply: (f: FunctionBuilder, panel: Panel) => void,
): void {
  const signature = {
    a: "i32",
    w: "i32",
    y: "i32",
    n: "i32",
    k: "i32",
    rowBytes: "i32",
    yBytes: "i32",
    rows: "i32",
    first: "i32",
    threadScratch: "i32",
    begin: "i32",
    end: "i32",
  } as const;
  module.function(`inner.tiles.${dtype}`, signature, (f, { a, w, y, n, k, rowBytes, yBytes, rows, first, threadScratch, begin, end }) => {
    const scratch = f.let(i32.add(threadScratch, i32.mul(threadIndex, panelBytes)));
    const [column, columns] = f.locals("i32", 2);
    f.while(i32.ltU(begin, end), () => {
      f.set(column, i32.mul(begin, tileColumns));
      f.set(columns, i32.sub(n, column));
      f.set(columns, i32.select(i32.ltU(columns, tileColumns), columns, tileColumns));
      f.call(pack, { from: i32.add(w, i32.mul(column, rowBytes)), to: scratch, rows: columns, rowBytes, k });
      multiply(f, { a, b: scratch, y: i32.add(y, i32.shl(column, 2)), k, rowBytes: yBytes, rows, columns, first });
      f.advance(begin, 1);
    });
  });
}

/** Parameters of functions that pack panels of rows. */
export const packSignature = { from: "i32", to: "i32", rows: "i32", rowBytes: "i32", k: "i32" } as const;
const tileSignature = { a: "i32", b: "i32", y: "i32", quads: "i32", rowBytes: "i32", rows: "i32", columns: "i32", first: "i32" } as const;

/**
 * `inner.pack<R>(from, to, rows, rowBytes, k)` packs panels of `R` rows of f32, four elements of each row in
 * turn. Missing rows repeat the last one; elements beyond `k` are zero.
 */
function emitPack(module: ModuleBuilder, count: number): FunctionRef<typeof packSignature, undefined> {
  return module.function(`inner.pack${count}`, packSignature, (f, { from, to, rows, rowBytes, k }) => {
    const pointers = f.locals("i32", count);
    const [last, left] = f.locals("i32", 2);
    const mask = laneMask(f, i32.and(k, 3));
    const step = (value: (pointer: Local<"i32">) => V128): void => {
      pointers.forEach((pointer, row) => {
        f.store(to, value(pointer), 16 * row);
        f.advance(pointer, 16);
      });
      f.advance(to, 16 * count);
    };
    f.while(rows, () => {
      f.set(last, i32.sub(rows, 1));
      pointers.forEach((pointer, row) => void f.set(pointer, i32.add(from, i32.mul(i32.select(i32.ltU(row, last), row, last), rowBytes))));
      f.set(left, k);
      f.while(i32.geU(left, 4), () => {
        step((pointer) => v128.load(pointer));
        f.advance(left, -4);
      });
      f.if(left, () => step((pointer) => v128.and(v128.load(pointer), mask)));
      f.advance(from, i32.mul(rowBytes, count));
      f.countDown(rows, count);
    });
  });
}

/**
 * `inner.tile(a, b, y, quads, rowBytes, rows, columns, first)` adds the products of all packed rows of `a` with a
 * packed panel of `b` to `y`, over `quads` groups of four k. Writes `rows` and `columns` of them. With `first`, `y`
 * counts as 0.
 */
function emitTile(module: ModuleBuilder, target: Target): FunctionRef<typeof tileSignature, undefined> {
  return module.function("inner.tile", tileSignature, (f, { a, b, y, quads, rowBytes, rows, columns, first }) => {
    const sums = tileSums(f);
    const [top, bottom] = sums;
    const av = f.locals("v128", tileRows);
    const bv = f.local("v128");
    const [panel, left, keep] = [f.local("i32"), f.local("i32"), f.local("v128")];
    f.set(keep, i32x4Mask(first));
    f.while(rows, () => {
      f.set(panel, b);
      f.set(left, quads);
      for (const sum of sums.flat()) f.set(sum, v128.zero());
      f.loop((again) => {
        av.forEach((row, i) => void f.set(row, v128.load(a, 16 * i)));
        for (const [j, column] of zip(top, bottom).entries()) {
          f.set(bv, v128.load(panel, 16 * j));
          for (const [row, sum] of zip(av, column)) f.set(sum, madd(target, row, bv, sum));
        }
        f.advance(a, 16 * tileRows);
        f.advance(panel, 16 * tileColumns);
        f.advance(left, -1);
        f.brIf(again, left);
      });
      const wide = sums.map(([s0, s1, s2, s3]) => laneSums(f, [s0, s1, s2, s3]));
      const narrow = laneSums(f, [top[4], top[5], bottom[4], bottom[5]]);
      for (const [i, four] of wide.entries()) {
        const end = f.let(narrow);
        if (i === 1) f.set(end, f32x4.shuffle(narrow, narrow, [2, 3, 2, 3]));
        f.if(i32.gtU(rows, i), () => {
          f.if(
            i32.eq(columns, tileColumns),
            () => {
              f.store(y, f32x4.add(v128.and(v128.load(y), keep), four));
              f.store64Lane(y, f32x4.add(v128.and(v128.load64Zero(y, 16), keep), end), 0, 16);
            },
            () => {
              for (let j = 0; j < tileColumns - 1; j++) {
                const value = j < 4 ? f32x4.extract(four, j) : f32x4.extract(end, j - 4);
                f.if(i32.gtU(columns, j), () =>
                  f.store(y, f32.add(f32x4.extract(v128.and(v128.load32Zero(y, 4 * j), keep), 0), value), 4 * j),
                );
              }
            },
          );
          f.advance(y, rowBytes);
        });
      }
      f.countDown(rows, tileRows);
    });
  });
}

/**
 * `inner.fewRows(w, x, y, count, rowBytes, k, rows, yBytes)` computes `y[row, column] = w[column] · x[row]` for `rows` rows
 * of `x` and six times `count` columns of f32 weights; `k` is a multiple of four. With few rows, packing costs more
 * than it saves. Two rows of `x` are multiplied with six of `w` at a time, which are a sixth of all columns apart and
 * continue in memory like those of {@link emitVector}. Further rows of `x` find them in the cache.
 */
function emitFewRows(module: ModuleBuilder, target: Target): void {
  const signature = { w: "i32", x: "i32", y: "i32", count: "i32", rowBytes: "i32", k: "i32", rows: "i32", yBytes: "i32" } as const;
  module.function("inner.fewRows", signature, (f, { w, x, y, count, rowBytes, k, rows, yBytes }) => {
    const streams = f.locals("i32", tileColumns);
    const pointers = f.locals("i32", tileColumns);
    const from = f.locals("i32", tileRows);
    const [groups, row, at, to, left, block, store] = f.locals("i32", 7);
    const sums = tileSums(f);
    const [top, bottom] = sums;
    const values = f.locals("v128", tileRows);
    const weights = f.local("v128");
    /** Totals of four columns of each row, and of the last two columns of both. */
    const totals = f.locals("v128", tileRows);
    const rest = f.local("v128");
    streams.forEach((stream, j) => void f.set(stream, i32.add(w, i32.mul(i32.mul(count, j), rowBytes))));
    f.set(groups, count);
    f.while(groups, () => {
      f.set(at, x);
      f.set(to, y);
      f.set(row, rows);
      f.while(row, () => {
        for (const [pointer, stream] of zip(pointers, streams)) f.set(pointer, stream);
        f.set(from[0], at);
        // A single last row is multiplied twice.
        f.set(from[1], i32.add(at, i32.select(i32.gtU(row, 1), i32.shl(k, 2), 0)));
        for (const total of [...totals, rest]) f.set(total, v128.zero());
        f.set(left, k);
        f.while(left, () => {
          f.set(block, i32.select(i32.ltU(left, depth), left, depth));
          f.set(left, i32.sub(left, block));
          for (const sum of sums.flat()) f.set(sum, v128.zero());
          f.loop((again) => {
            for (const [pointer, value] of zip(from, values)) {
              f.set(value, v128.load(pointer));
              f.advance(pointer, 16);
            }
            for (const [pointer, column] of zip(pointers, zip(top, bottom))) {
              f.set(weights, v128.load(pointer));
              f.advance(pointer, 16);
              for (const [value, sum] of zip(values, column)) f.set(sum, madd(target, value, weights, sum));
            }
            f.advance(block, -4);
            f.brIf(again, block);
          });
          for (const [total, [s0, s1, s2, s3]] of zip(totals, sums)) f.set(total, f32x4.add(total, laneSums(f, [s0, s1, s2, s3])));
          f.set(rest, f32x4.add(rest, laneSums(f, [top[4], top[5], bottom[4], bottom[5]])));
        });
        for (const [i, total] of totals.entries()) {
          f.if(i32.gtU(row, i), () => {
            f.set(store, to);
            for (let j = 0; j < tileColumns; j++) {
              f.store32Lane(store, j < 4 ? total : rest, j < 4 ? j : 2 * i + j - 4);
              f.advance(store, i32.shl(count, 2));
            }
            f.advance(to, yBytes);
          });
        }
        f.advance(at, i32.shl(k, 3));
        f.countDown(row, tileRows);
      });
      for (const stream of streams) f.advance(stream, rowBytes);
      f.advance(y, 4);
      f.advance(groups, -1);
    });
  });
}

/** Sums of a register tile, by row and column. */
function tileSums(f: FunctionBuilder) {
  return mapTuple([0, 1], () => f.locals("v128", tileColumns));
}

/** All ones if `first` is 0, else zeros. */
function i32x4Mask(first: Expr<"i32">): V128 {
  return f32x4.splat(f32.reinterpret(i32.sub(0, i32.eqz(first))));
}

/**
 * `inner.vector.f32(w, x, y, rows, rowBytes, k)` computes `y[row] = w[row] · x`. Rows that are read together are a
 * quarter of all rows apart: each stream continues where its last row ended, and the processor prefetches across rows.
 */
function emitVector(module: ModuleBuilder, target: Target): void {
  const signature = { w: "i32", x: "i32", y: "i32", rows: "i32", rowBytes: "i32", k: "i32" } as const;
  module.function("inner.vector.f32", signature, (f, { w, x, y, rows, rowBytes, k }) => {
    const [at, left, block] = f.locals("i32", 3);
    const [total, values] = f.locals("v128", 2);
    /** Multiplies the next row of each pointer and advances the pointers to its end. */
    const dot = (pointers: readonly Local<"i32">[], sums: readonly [Local<"v128">, ...Local<"v128">[]]): void => {
      f.set(at, x);
      f.set(left, k);
      f.set(total, v128.zero());
      f.while(left, () => {
        for (const sum of sums) f.set(sum, v128.zero());
        f.set(block, i32.select(i32.ltU(left, depth), left, depth));
        f.set(left, i32.sub(left, block));
        f.while(i32.geU(block, 4), () => {
          f.set(values, v128.load(at));
          for (const [pointer, sum] of zip(pointers, sums)) {
            f.set(sum, madd(target, v128.load(pointer), values, sum));
            f.advance(pointer, 16);
          }
          f.advance(at, 16);
          f.advance(block, -4);
        });
        f.if(block, () => {
          const mask = laneMask(f, block);
          f.set(values, v128.and(v128.load(at), mask));
          for (const [pointer, sum] of zip(pointers, sums)) {
            f.set(sum, madd(target, v128.and(v128.load(pointer), mask), values, sum));
            f.advance(pointer, i32.shl(block, 2));
          }
        });
        const [s0, s1 = s0, s2 = s0, s3 = s0] = sums;
        f.set(total, f32x4.add(total, laneSums(f, [s0, s1, s2, s3])));
      });
    };
    const streams = f.locals("i32", vectorRows);
    const sums = f.locals("v128", vectorRows);
    const results = f.locals("i32", vectorRows);
    const [count, last, lastResult] = [f.let(i32.shrU(rows, Math.log2(vectorRows))), lastOf(streams), lastOf(results)];
    streams.forEach((stream, i) => void f.set(stream, i32.add(w, i32.mul(i32.mul(count, i), rowBytes))));
    results.forEach((result, i) => void f.set(result, i32.add(y, i32.mul(count, 4 * i))));
    f.set(rows, i32.and(rows, vectorRows - 1));
    f.while(count, () => {
      dot(streams, sums);
      results.forEach((result, i) => {
        f.store32Lane(result, total, i);
        f.advance(result, 4);
      });
      f.advance(count, -1);
    });
    f.while(rows, () => {
      dot([last], [sums[0]]);
      f.store32Lane(lastResult, total, 0);
      f.advance(lastResult, 4);
      f.advance(rows, -1);
    });
  });
}
