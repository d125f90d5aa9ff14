import { elementAt, lastOf } from "@centella/core/backend";
import { type FunctionRef, f32, f32x4, i32, type Local, type ModuleBuilder, v128 } from "../emit/index.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { zip } from "../kernels/shared/zip.ts";
import { madd, type Target } from "../target.ts";
import { outer, rowPanels } from "./outer.ts";

const { depth, tileColumns } = outer;

/** Parameters of `outer.row`. */
export const rowSignature = { x: "i32", panels: "i32", panelBytes: "i32", y: "i32", k: "i32", columns: "i32", first: "i32" } as const;

/** Adds the products of one row with a few packed panels to `y`. */
export type OuterRow = FunctionRef<typeof rowSignature, undefined>;

/**
 * `outer.row(x, panels, panelBytes, y, k, columns, first)` adds the products of one row with up to four packed panels,
 * `panelBytes` apart, to `columns` columns of `y`. With `first`, `y` counts as 0. Unneeded panels repeat the last one.
 */
export function emitRow(module: ModuleBuilder, target: Target): OuterRow {
  return module.function("outer.row", rowSignature, (f, { x, panels, panelBytes, y, k, columns, first }) => {
    const tiles = Array.from({ length: rowPanels }, () => f.locals("v128", tileColumns / 4));
    const sums = tiles.flat();
    const pointers = f.locals("i32", rowPanels);
    const [value, keep] = [f.local("v128"), f.let(f32x4.splat(f32.reinterpret(i32.sub(0, i32.eqz(first)))))];
    const last = f.let(i32.shrU(i32.sub(columns, 1), Math.log2(tileColumns)));
    pointers.forEach((pointer, i) => void f.set(pointer, i32.add(panels, i32.mul(panelBytes, i32.select(i32.ltU(i, last), i, last)))));
    for (const sum of sums) f.set(sum, v128.zero());
    f.while(k, () => {
      f.set(value, v128.load32Splat(x));
      for (const [pointer, tile] of zip(pointers, tiles)) {
        tile.forEach((sum, i) => void f.set(sum, madd(target, value, v128.load(pointer, 16 * i), sum)));
      }
      f.advance(x, 4);
      for (const pointer of pointers) f.advance(pointer, 4 * tileColumns);
      f.advance(k, -1);
    });
    for (const sum of sums) {
      f.if(columns, () => {
        f.set(value, f32x4.add(v128.and(v128.load(y), keep), sum));
        storeLanes(f, y, value, columns);
        f.advance(y, 16);
        f.countDown(columns, 4);
      });
    }
  });
}

/**
 * `outer.vector(x, panels, y, k, columns)` computes `y = x · b` for one row and a matrix in panels over all of k.
 * Panels that are read together are a quarter of all panels apart: each stream continues where its last panel ended,
 * and the processor prefetches across panels.
 */
export function emitVector(module: ModuleBuilder, target: Target, row: OuterRow): void {
  const signature = { x: "i32", panels: "i32", y: "i32", k: "i32", columns: "i32" } as const;
  module.function("outer.vector", signature, (f, { x, panels, y, k, columns }) => {
    const panelBytes = f.let(i32.mul(k, 4 * tileColumns));
    const count = f.let(i32.shrU(columns, Math.log2(rowPanels * tileColumns)));
    const tiles = Array.from({ length: rowPanels }, () => f.locals("v128", tileColumns / 4));
    const [streams, results] = [f.locals("i32", rowPanels), f.locals("i32", rowPanels)];
    const [at, left, block, first] = f.locals("i32", 4);
    const [value, keep] = f.locals("v128", 2);
    const nextBlock = (): void => {
      f.set(block, i32.select(i32.ltU(left, depth), left, depth));
      f.set(left, i32.sub(left, block));
    };
    streams.forEach((stream, i) => void f.set(stream, i32.add(panels, i32.mul(i32.mul(count, i), panelBytes))));
    results.forEach((result, i) => void f.set(result, i32.add(y, i32.mul(count, 4 * tileColumns * i))));
    f.advance(columns, i32.mul(count, -rowPanels * tileColumns));
    f.while(count, () => {
      f.set(at, x);
      f.set(left, k);
      f.set(keep, v128.zero());
      f.while(left, () => {
        nextBlock();
        for (const sum of tiles.flat()) f.set(sum, v128.zero());
        f.loop((again) => {
          f.set(value, v128.load32Splat(at));
          for (const [stream, tile] of zip(streams, tiles)) {
            tile.forEach((sum, i) => void f.set(sum, madd(target, value, v128.load(stream, 16 * i), sum)));
          }
          f.advance(at, 4);
          for (const stream of streams) f.advance(stream, 4 * tileColumns);
          f.advance(block, -1);
          f.brIf(again, block);
        });
        for (const [result, tile] of zip(results, tiles)) {
          tile.forEach((sum, i) => void f.store(result, f32x4.add(v128.and(v128.load(result, 16 * i), keep), sum), 16 * i));
        }
        f.set(keep, f.splatBits(-1));
      });
      for (const result of results) f.advance(result, 4 * tileColumns);
      f.advance(count, -1);
    });
    const [panel, to] = [lastOf(streams), lastOf(results)];
    f.if(columns, () => {
      f.set(at, x);
      f.set(left, k);
      f.setI32(first, 1);
      f.while(left, () => {
        nextBlock();
        f.call(row, { x: at, panels: panel, panelBytes, y: to, k: block, columns, first });
        f.advance(at, i32.shl(block, 2));
        f.advance(panel, i32.mul(block, 4 * tileColumns));
        f.setI32(first, 0);
      });
    });
  });
}

/**
 * `outer.fewRows(x, b, y, m, k, n, xBytes, rowBytes, yBytes, sums)` computes `y = x · b` for few rows of `x` and reads each
 * row of `b` once. `sums` has space for `m * n` f32 and a vector.
 */
export function emitFewRows(module: ModuleBuilder, target: Target): void {
  const passSignature = { x: "i32", b: "i32", sums: "i32", xBytes: "i32", rowBytes: "i32", bytes: "i32" } as const;
  /**
   * Adds the products of `xRows` rows and `count` elements of k to sums that are `bytes` apart, `most` vectors of each
   * at a time.
   */
  const emitPass = (xRows: number, count: number, most: number) =>
    module.function(`outer.fewRows${xRows}x${count}`, passSignature, (f, { x, b, sums, xBytes, rowBytes, bytes }) => {
      const [at, end] = [f.let(i32.const(0)), f.local("i32")];
      const xs = Array.from({ length: xRows }, () => f.locals("v128", count));
      const [pointers, totals] = [f.locals("i32", count), f.locals("i32", xRows)];
      const rows = zip(xs, totals).map(([splats, total]) => ({ splats, total, values: f.locals("v128", most) }));
      const quad = f.local("v128");
      for (const [r, { splats, total }] of rows.entries()) {
        splats.forEach((splat, i) => void f.set(splat, v128.load32Splat(x, 4 * i)));
        f.advance(x, xBytes);
        f.set(total, i32.add(sums, i32.mul(bytes, r)));
      }
      pointers.forEach((pointer, i) => void f.set(pointer, i32.add(b, i32.mul(i, rowBytes))));
      const inSteps = (vectors: number): void => {
        const each = (work: (value: Local<"v128">, total: Local<"i32">, offset: number) => void): void => {
          for (const { values, total } of rows) values.slice(0, vectors).forEach((value, i) => void work(value, total, 16 * i));
        };
        f.set(end, i32.and(bytes, -16 * vectors));
        f.while(i32.ltU(at, end), () => {
          each((value, total, offset) => f.set(value, v128.load(i32.add(total, at), offset)));
          pointers.forEach((pointer, i) => {
            for (let vector = 0; vector < vectors; vector++) {
              f.set(quad, v128.load(i32.add(pointer, at), 16 * vector));
              for (const { splats, values } of rows) {
                const value = elementAt(values, vector);
                f.set(value, madd(target, elementAt(splats, i), quad, value));
              }
            }
          });
          each((value, total, offset) => f.store(i32.add(total, at), value, offset));
          f.advance(at, 16 * vectors);
        });
      };
      inSteps(most);
      if (most > 1) inSteps(1);
    });
  // Memory is read fastest in eight streams, one per row of b; four or three rows of x fill the registers.
  const passes = { one: emitPass(1, 1, 4), eight: emitPass(1, 8, 4), wide: emitPass(3, 4, 1) };
  const signature = {
    x: "i32",
    b: "i32",
    y: "i32",
    m: "i32",
    k: "i32",
    n: "i32",
    xBytes: "i32",
    rowBytes: "i32",
    yBytes: "i32",
    sums: "i32",
  } as const;
  module.function("outer.fewRows", signature, (f, { x, b, y, m, k, n, xBytes, rowBytes, yBytes, sums }) => {
    const [block, row, left, at, from, to] = f.locals("i32", 6);
    const bytes = f.let(i32.shl(n, 2));
    const padded = f.let(i32.and(i32.add(bytes, 15), -16));
    const [value, keep] = [f.local("v128"), f.let(v128.zero())];
    const pass = (ref: (typeof passes)["one"], rows: number): void => {
      f.call(ref, { x: from, b: at, sums: to, xBytes, rowBytes, bytes: padded });
      f.advance(from, i32.mul(xBytes, rows));
      f.advance(to, i32.mul(padded, rows));
      f.advance(left, -rows);
    };
    const start = (): void => {
      f.set(from, x);
      f.set(at, b);
      f.set(to, sums);
      f.set(left, m);
    };
    const end = (count: number): void => {
      f.advance(x, 4 * count);
      f.advance(b, i32.mul(rowBytes, count));
      f.advance(block, -count);
    };
    f.while(k, () => {
      f.memoryFill(sums, 0, i32.mul(padded, m));
      f.set(block, i32.select(i32.ltU(k, depth), k, depth));
      f.set(k, i32.sub(k, block));
      f.while(i32.geU(block, 8), () => {
        start();
        f.while(i32.geU(left, 3), () => {
          f.call(passes.wide, { x: from, b: at, sums: to, xBytes, rowBytes, bytes: padded });
          f.call(passes.wide, { x: i32.add(from, 16), b: i32.add(at, i32.shl(rowBytes, 2)), sums: to, xBytes, rowBytes, bytes: padded });
          f.advance(from, i32.mul(xBytes, 3));
          f.advance(to, i32.mul(padded, 3));
          f.advance(left, -3);
        });
        f.while(left, () => pass(passes.eight, 1));
        end(8);
      });
      f.while(block, () => {
        start();
        f.while(left, () => pass(passes.one, 1));
        end(1);
      });
      f.set(from, sums);
      f.for(row, 0, m, 1, () => {
        f.set(to, i32.add(y, i32.mul(row, yBytes)));
        f.set(left, n);
        f.for(at, 0, bytes, 16, () => {
          f.set(value, f32x4.add(v128.and(v128.load(to), keep), v128.load(from)));
          storeLanes(f, to, value, left);
          f.advance(from, 16);
          f.advance(to, 16);
          f.advance(left, -4);
        });
      });
      f.set(keep, f.splatBits(-1));
    });
  });
}
