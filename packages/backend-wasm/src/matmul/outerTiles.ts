import { elementAt } from "@centella/core/backend";
import {
  type FunctionBuilder,
  type FunctionRef,
  f32,
  f32x4,
  type I32,
  i32,
  type Local,
  type ModuleBuilder,
  threadIndex,
  type V128,
  v128,
} from "../emit/index.ts";
import { zip } from "../kernels/shared/zip.ts";
import { madd, type Target } from "../target.ts";
import { outer, outerTileRows, tileBytes } from "./outer.ts";

const { tileColumns } = outer;

/** Parameters of `outer.tile`. */
export const tileSignature = {
  a: "i32",
  b: "i32",
  y: "i32",
  k: "i32",
  rowBytes: "i32",
  rows: "i32",
  columns: "i32",
  first: "i32",
  spill: "i32",
} as const;
/** Adds the products of packed rows with one packed panel to a tile of `y`. */
export type OuterTile = FunctionRef<typeof tileSignature, undefined>;

/** Emits `outer.direct`, `outer.tile` and `outer.tiles`: products with enough rows for register tiles. */
export function emitTiles(module: ModuleBuilder, target: Target): OuterTile {
  emitDirect(module, target);
  const tile = emitTile(module, target);
  emitTileRange(module, tile);
  return tile;
}

/**
 * `outer.tile(a, b, y, k, rowBytes, rows, columns, first, spill)` adds the products of all packed panels of `a` with a
 * packed panel of `b` to `rows` and `columns` of `y`. With `first`, `y` counts as 0. `spill` has space for a tile.
 */
function emitTile(module: ModuleBuilder, target: Target): OuterTile {
  const tileRows = outerTileRows(target);
  return module.function("outer.tile", tileSignature, (f, { a, b, y, k, rowBytes, rows, columns, first, spill }) => {
    const sums = f.locals("v128", (tileRows * tileColumns) / 4);
    const keep = f.let(f32x4.splat(f32.reinterpret(i32.sub(0, i32.eqz(first)))));
    const panel = f.local("i32");
    f.while(rows, () => {
      f.set(panel, b);
      multiplyTile(f, target, sums, k, {
        loadA: (row) => v128.load32Splat(a, 4 * row),
        loadB: (vector) => v128.load(panel, 16 * vector),
        advance() {
          f.advance(a, 4 * tileRows);
          f.advance(panel, 4 * tileColumns);
        },
      });
      storeTile(f, sums, { y, rowBytes, rows, columns, spill, keep });
    });
  });
}

/**
 * `outer.tiles(a, panels, panelBytes, y, k, rowBytes, rows, columns, first, threadScratch, begin, end)` runs
 * {@link emitTile} for panels `begin` to `end`, `panelBytes` apart, with `columns` columns in all. Each thread has
 * {@link tileBytes} of scratch.
 */
function emitTileRange(module: ModuleBuilder, tile: OuterTile): void {
  const { b: panels, spill: threadScratch, ...others } = tileSignature;
  const { a, y, ...rest } = others;
  const signature = { a, panels, panelBytes: "i32", y, ...rest, threadScratch, begin: "i32", end: "i32" } as const;
  module.function("outer.tiles", signature, (f, p) => {
    const { begin, end } = p;
    const spill = f.let(i32.add(p.threadScratch, i32.mul(threadIndex, tileBytes)));
    const columns = f.local("i32");
    f.while(i32.ltU(begin, end), () => {
      const column = i32.mul(begin, tileColumns);
      f.set(columns, i32.sub(p.columns, column));
      f.call(tile, {
        ...p,
        b: i32.add(p.panels, i32.mul(begin, p.panelBytes)),
        y: i32.add(p.y, i32.shl(column, 2)),
        columns: i32.select(i32.ltU(columns, tileColumns), columns, tileColumns),
        spill,
      });
      f.advance(begin, 1);
    });
  });
}

/**
 * `outer.direct(a, b, y, aBytes, rowBytes, k, m, n, first, spill)` adds `a [m, k] · b [k, n]` to `y [m, n]`, all f32
 * and unpacked. Rows of `a` are `aBytes` apart, rows of `b` and `y` `rowBytes`. With `first`, `y` counts as 0.
 */
function emitDirect(module: ModuleBuilder, target: Target): void {
  const tileRows = outerTileRows(target);
  const signature = {
    a: "i32",
    b: "i32",
    y: "i32",
    aBytes: "i32",
    rowBytes: "i32",
    k: "i32",
    m: "i32",
    n: "i32",
    first: "i32",
    spill: "i32",
  } as const;
  module.function("outer.direct", signature, (f, { a, b, y, aBytes, rowBytes, k, m, n, first, spill }) => {
    const sums = f.locals("v128", (tileRows * tileColumns) / 4);
    const pointers = f.locals("i32", tileRows);
    const [row, at, to, rows, last, columns] = f.locals("i32", 6);
    const keep = f.let(f32x4.splat(f32.reinterpret(i32.sub(0, i32.eqz(first)))));
    f.while(n, () => {
      f.set(columns, i32.select(i32.ltU(n, tileColumns), n, tileColumns));
      f.set(row, a);
      f.set(to, y);
      f.set(rows, m);
      f.while(rows, () => {
        f.set(last, i32.sub(rows, 1));
        pointers.forEach((pointer, i) => void f.set(pointer, i32.add(row, i32.mul(i32.select(i32.ltU(i, last), i, last), aBytes))));
        f.set(at, b);
        multiplyTile(f, target, sums, k, {
          loadA: (i) => v128.load32Splat(elementAt(pointers, i)),
          loadB: (vector) => v128.load(at, 16 * vector),
          advance() {
            for (const pointer of pointers) f.advance(pointer, 4);
            f.advance(at, rowBytes);
          },
        });
        f.advance(row, i32.mul(aBytes, tileRows));
        storeTile(f, sums, { y: to, rowBytes, rows, columns, spill, keep });
      });
      f.advance(b, 4 * tileColumns);
      f.advance(y, 4 * tileColumns);
      f.set(n, i32.sub(n, columns));
    });
  });
}

type Pointer = Local<"i32">;

/** Sums products of a tile's rows and columns over `k > 0`, in order of k. */
function multiplyTile(
  f: FunctionBuilder,
  target: Target,
  sums: readonly Local<"v128">[],
  k: I32,
  {
    loadA,
    loadB,
    advance,
  }: { readonly loadA: (row: number) => V128; readonly loadB: (vector: number) => V128; readonly advance: () => void },
): void {
  const vectors = tileColumns / 4;
  const bv = f.locals("v128", vectors);
  const [av, left] = [f.local("v128"), f.local("i32")];
  f.setI32(left, k);
  for (const sum of sums) f.set(sum, v128.zero());
  f.loop((again) => {
    bv.forEach((vector, j) => void f.set(vector, loadB(j)));
    for (let i = 0; i < sums.length / vectors; i++) {
      f.set(av, loadA(i));
      for (const [sum, vector] of zip(sums.slice(i * vectors, (i + 1) * vectors), bv)) f.set(sum, madd(target, av, vector, sum));
    }
    advance();
    f.advance(left, -1);
    f.brIf(again, left);
  });
}

/** Adds a tile to the part of `y` that `keep` masks, advances `y`, and counts `rows` down. */
function storeTile(
  f: FunctionBuilder,
  sums: readonly Local<"v128">[],
  {
    y,
    rowBytes,
    rows,
    columns,
    spill,
    keep,
  }: {
    readonly y: Pointer;
    readonly rowBytes: Pointer;
    readonly rows: Pointer;
    readonly columns: Pointer;
    readonly spill: Pointer;
    readonly keep: Local<"v128">;
  },
): void {
  const vectors = tileColumns / 4;
  const tileRows = sums.length / vectors;
  const [row, column, from] = f.locals("i32", 3);
  f.if(
    i32.and(i32.geU(rows, tileRows), i32.eq(columns, tileColumns)),
    () => {
      sums.forEach((sum, index) => {
        const j = index % vectors;
        f.store(y, f32x4.add(v128.and(v128.load(y, 16 * j), keep), sum), 16 * j);
        if (j === vectors - 1) f.advance(y, rowBytes);
      });
      f.set(rows, i32.sub(rows, tileRows));
    },
    () => {
      sums.forEach((sum, index) => void f.store(spill, sum, 16 * index));
      f.set(from, spill);
      f.for(row, 0, i32.select(i32.ltU(rows, tileRows), rows, tileRows), 1, () => {
        f.for(column, 0, i32.shl(columns, 2), 4, () => {
          const address = i32.add(y, column);
          const old = f32x4.extract(v128.and(v128.load32Zero(address), keep), 0);
          f.store(address, f32.add(old, f32.load(i32.add(from, column))));
        });
        f.advance(y, rowBytes);
        f.advance(from, 4 * tileColumns);
      });
      f.countDown(rows, tileRows);
    },
  );
}
