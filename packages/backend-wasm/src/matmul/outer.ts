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
import { loadBfloats, loadHalves } from "../formats/half.ts";
import { storeLanes } from "../kernels/shared/loops.ts";
import { madd, type Target } from "../target.ts";

/**
 * Products whose second operand runs along n in memory (`a [m, k] · b [k, n]`), as sums of outer products.
 *
 * One order of accumulation for every path: within each {@link depth} of k one sum in the order of k; these sums added in the
 * order of k to a total that starts at 0.
 */
export const outer = {
  /** Elements of k per block. */
  depth: 512,
  /** Columns of a register tile, two vectors. */
  tileColumns: 8,
} as const;

const { depth, tileColumns } = outer;

/** Rows of a register tile: 15 registers hold 12 sums and 3 operands, or without fused multiply-add 8, 3 and a product. */
export function outerTileRows(target: Target): number {
  return target.relaxed ? 6 : 4;
}

/** Bytes of a register tile in memory. */
export const tileBytes: number = 4 * 6 * tileColumns;

/** Panels that {@link OuterFunctions.row} reads at once, to hide the latency of the multiply-add. */
export const rowPanels = 4;

const tileSignature = {
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
const rowSignature = { x: "i32", panels: "i32", panelBytes: "i32", y: "i32", k: "i32", columns: "i32", first: "i32" } as const;

/** Functions that others call. */
export interface OuterFunctions {
  readonly tile: FunctionRef<typeof tileSignature, undefined>;
  readonly row: FunctionRef<typeof rowSignature, undefined>;
}

/** Emits `outer.packA`, `outer.packB.<dtype>`, `outer.tile`, `outer.tiles`, `outer.direct`, `outer.row` and `outer.few`. */
export function emitOuter(module: ModuleBuilder, target: Target): OuterFunctions {
  emitPackA(module, outerTileRows(target));
  for (const dtype of ["f32", "f16", "bf16"] as const) emitPackB(module, dtype);
  emitFew(module, target);
  emitDirect(module, target);
  const tile = emitTile(module, target);
  emitTiles(module, tile);
  return { tile, row: emitRow(module, target) };
}

/** `outer.packA(from, to, rows, rowBytes, k)`: panels of tile rows, one element of each in turn; beyond `rows` the last repeats. */
function emitPackA(module: ModuleBuilder, tileRows: number): void {
  const signature = { from: "i32", to: "i32", rows: "i32", rowBytes: "i32", k: "i32" } as const;
  module.function("outer.packA", signature, (f, { from, to, rows, rowBytes, k }) => {
    const pointers = f.locals("i32", tileRows);
    const [left, last] = [f.local("i32"), f.local("i32")];
    f.while(rows, () => {
      f.set(last, i32.sub(rows, 1));
      pointers.forEach((pointer, row) => void f.set(pointer, i32.add(from, i32.mul(i32.select(i32.ltU(row, last), row, last), rowBytes))));
      f.set(left, k);
      f.while(left, () => {
        pointers.forEach((pointer, row) => {
          f.store(to, f32.load(pointer), 4 * row);
          f.advance(pointer, 4);
        });
        f.advance(to, 4 * tileRows);
        f.advance(left, -1);
      });
      f.advance(from, i32.mul(rowBytes, tileRows));
      f.set(rows, i32.select(i32.gtU(rows, tileRows), i32.sub(rows, tileRows), 0));
    });
  });
}

/**
 * `outer.packB.<dtype>(from, to, rowBytes, k, begin, end)`: panels of tile columns as f32, one after the other. Columns beyond the
 * matrix hold anything. All panels are filled row by row: reading one panel at a time would fetch every cache line twice.
 */
function emitPackB(module: ModuleBuilder, dtype: "f32" | "f16" | "bf16"): void {
  const signature = { from: "i32", to: "i32", rowBytes: "i32", k: "i32", begin: "i32", end: "i32" } as const;
  const vectorBytes = dtype === "f32" ? 16 : 8;
  module.function(`outer.packB.${dtype}`, signature, (f, { from, to, rowBytes, k, begin, end }) => {
    const panelBytes = f.let(i32.mul(k, 4 * tileColumns));
    f.advance(from, i32.mul(begin, (vectorBytes * tileColumns) / 4));
    f.advance(to, i32.mul(begin, panelBytes));
    const [at, panel, left] = [f.local("i32"), f.local("i32"), f.local("i32")];
    f.while(k, () => {
      f.set(at, from);
      f.set(panel, to);
      f.set(left, i32.sub(end, begin));
      f.while(left, () => {
        for (let vector = 0; vector < tileColumns / 4; vector++) {
          const offset = vectorBytes * vector;
          const value = dtype === "f32" ? v128.load(at, offset) : dtype === "f16" ? loadHalves(f, at, offset) : loadBfloats(at, offset);
          f.store(panel, value, 16 * vector);
        }
        f.advance(at, (vectorBytes * tileColumns) / 4);
        f.advance(panel, panelBytes);
        f.advance(left, -1);
      });
      f.advance(from, rowBytes);
      f.advance(to, 4 * tileColumns);
      f.advance(k, -1);
    });
  });
}

/**
 * `outer.tile(a, b, y, k, rowBytes, rows, columns, first, spill)`: adds the products of all packed panels of `a` with one
 * packed panel of `b` to `y`, of which `rows` and `columns` are to be written. `first`: `y` starts at 0. `spill` is room for a tile.
 */
function emitTile(module: ModuleBuilder, target: Target): OuterFunctions["tile"] {
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
 * `outer.tiles(a, panels, y, k, rowBytes, rows, columns, first, rooms, begin, end)`: {@link emitTile} for panels `begin` to `end` of those that lie one after
 * the other, `columns` in all; each thread has a room of {@link tileBytes}.
 */
function emitTiles(module: ModuleBuilder, tile: OuterFunctions["tile"]): void {
  const { b: panels, spill: rooms, ...others } = tileSignature;
  const { a, y, ...rest } = others;
  const signature = { a, panels, y, ...rest, rooms, begin: "i32", end: "i32" } as const;
  module.function("outer.tiles", signature, (f, p) => {
    const { k, begin, end } = p;
    const spill = f.let(i32.add(p.rooms, i32.mul(threadIndex, tileBytes)));
    const columns = f.local("i32");
    f.while(i32.ltU(begin, end), () => {
      const column = i32.mul(begin, tileColumns);
      f.set(columns, i32.sub(p.columns, column));
      f.call(tile, {
        ...p,
        b: i32.add(p.panels, i32.shl(i32.mul(column, k), 2)),
        y: i32.add(p.y, i32.shl(column, 2)),
        columns: i32.select(i32.ltU(columns, tileColumns), columns, tileColumns),
        spill,
      });
      f.advance(begin, 1);
    });
  });
}

/**
 * `outer.direct(a, b, y, aBytes, rowBytes, k, m, n, first, spill)`: adds `a [m, k] · b [k, n]` to `y [m, n]`, f32, none of them packed:
 * rows of `a` are `aBytes` apart, rows of `b` and `y` `rowBytes`. `first`: `y` starts at 0.
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
    const [row, at, to, rows, last, columns] = f.locals("i32", 6) as [Pointer, Pointer, Pointer, Pointer, Pointer, Pointer];
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
          loadA: (i) => v128.load32Splat(pointers[i]!),
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

/** Sums of the products of a tile's rows and columns over `k`, which is not 0, in the order of k. */
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
    for (let j = 0; j < vectors; j++) f.set(bv[j]!, loadB(j));
    for (let i = 0; i < sums.length / vectors; i++) {
      f.set(av, loadA(i));
      for (let j = 0; j < vectors; j++) {
        const sum = sums[i * vectors + j]!;
        f.set(sum, madd(target, av, bv[j]!, sum));
      }
    }
    advance();
    f.advance(left, -1);
    f.brIf(again, left);
  });
}

/** Adds a tile to what `keep` leaves of `y` and steps down: `rows` counts what is left, `y` is advanced. */
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
  const [row, column, from] = [f.local("i32"), f.local("i32"), f.local("i32")];
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
      f.set(rows, i32.select(i32.gtU(rows, tileRows), i32.sub(rows, tileRows), 0));
    },
  );
}

/**
 * `outer.row(x, panels, panelBytes, y, k, columns, first)`: adds the products of one row with up to four packed panels, `panelBytes`
 * apart, to `y`, of which `columns` are to be written. `first`: `y` starts at 0. Panels that are not needed are read all the same.
 */
function emitRow(module: ModuleBuilder, target: Target): OuterFunctions["row"] {
  return module.function("outer.row", rowSignature, (f, { x, panels, panelBytes, y, k, columns, first }) => {
    const vectors = (rowPanels * tileColumns) / 4;
    const sums = f.locals("v128", vectors);
    const pointers = f.locals("i32", rowPanels);
    const [value, keep] = [f.local("v128"), f.let(f32x4.splat(f32.reinterpret(i32.sub(0, i32.eqz(first)))))];
    pointers.forEach((pointer, i) => void f.set(pointer, i32.add(panels, i32.mul(panelBytes, i))));
    for (const sum of sums) f.set(sum, v128.zero());
    f.while(k, () => {
      f.set(value, v128.load32Splat(x));
      sums.forEach((sum, i) => void f.set(sum, madd(target, value, v128.load(pointers[i >> 1]!, 16 * (i & 1)), sum)));
      f.advance(x, 4);
      for (const pointer of pointers) f.advance(pointer, 4 * tileColumns);
      f.advance(k, -1);
    });
    for (const sum of sums) {
      f.if(columns, () => {
        f.set(value, f32x4.add(v128.and(v128.load(y), keep), sum));
        storeLanes(f, y, value, columns);
        f.advance(y, 16);
        f.set(columns, i32.select(i32.gtU(columns, 4), i32.sub(columns, 4), 0));
      });
    }
  });
}

/**
 * `outer.few(x, b, y, m, k, n, xBytes, rowBytes, yBytes, sums)`: `y = x · b` for the few rows of `x`, with each row of `b` read once; `sums` is room for `m`
 * times `n` f32 and a vector.
 */
function emitFew(module: ModuleBuilder, target: Target): void {
  const passSignature = { x: "i32", b: "i32", sums: "i32", xBytes: "i32", rowBytes: "i32", bytes: "i32" } as const;
  /** Adds the products of `xRows` rows and `count` elements of k to as many sums, which are `bytes` apart. */
  const emitPass = (xRows: number, count: number) =>
    module.function(`outer.few${xRows}x${count}`, passSignature, (f, { x, b, sums, xBytes, rowBytes, bytes }) => {
      const at = f.local("i32");
      const xs = Array.from({ length: xRows }, () => f.locals("v128", count));
      const [pointers, totals] = [f.locals("i32", count), f.locals("i32", xRows)];
      const [values, quad] = [f.locals("v128", xRows), f.local("v128")];
      xs.forEach((row, r) => {
        row.forEach((splat, i) => void f.set(splat, v128.load32Splat(x, 4 * i)));
        f.advance(x, xBytes);
        f.set(totals[r]!, i32.add(sums, i32.mul(bytes, r)));
      });
      pointers.forEach((pointer, i) => void f.set(pointer, i32.add(b, i32.mul(i, rowBytes))));
      f.for(at, 0, bytes, 16, () => {
        values.forEach((value, r) => void f.set(value, v128.load(i32.add(totals[r]!, at))));
        pointers.forEach((pointer, i) => {
          f.set(quad, v128.load(i32.add(pointer, at)));
          values.forEach((value, r) => void f.set(value, madd(target, xs[r]![i]!, quad, value)));
        });
        values.forEach((value, r) => void f.store(i32.add(totals[r]!, at), value));
      });
    });
  // Eight rows of b at a time are as many streams as memory is read fastest with; four and three rows of x fill the registers.
  const passes = { one: emitPass(1, 1), eight: emitPass(1, 8), wide: emitPass(3, 4) };
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
  module.function("outer.few", signature, (f, { x, b, y, m, k, n, xBytes, rowBytes, yBytes, sums }) => {
    const [block, row, left, at, from, to] = f.locals("i32", 6) as [Pointer, Pointer, Pointer, Pointer, Pointer, Pointer];
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
