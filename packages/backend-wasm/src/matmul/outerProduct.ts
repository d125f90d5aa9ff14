import type { DType } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import type { Call, Exports, Range, Stage } from "../kernel.ts";
import { outer, rowPanels, tileBytes } from "./outer.ts";
import { minPackedRows, type Product, sharedUnits } from "./product.ts";

const { depth, tileColumns } = outer;

/**
 * Rows of `a` that are packed together, a multiple of both tile heights: half a MiB with {@link outer.depth}, read
 * again for each panel of `b`.
 */
const rowBlock = 252;

/** Rows that a thread packs at a time, also whole tiles. */
const rowSlice = 84;

/** Columns of `b` that are packed and multiplied with all rows of `a`: two MiB with {@link outer.depth}. */
const columnBlock = 1024;

/** Panels whose rows are packed together: two cache lines. */
const panelsPerLine = 8;

/** Multiply-adds up to which packing costs more than it saves, and up to which one thread is as fast as several. */
const directLimit = 128 ** 3;
const singleLimit = 64 ** 3;

/** Rows of `a` up to which `b` is used too rarely to be packed. */
const maxFewRows = 20;

/**
 * Columns per call of a product with few rows, in whole cache lines: minimum, maximum, and maximum times rows, so that
 * sums stay in the cache.
 */
const fewRowsColumns = { least: 64, most: 4096, perRow: 16_384 } as const;

/** Panels that several rows are multiplied with in turn: half of a second-level cache. */
const cachedBytes = 2 ** 19;

/** Bytes between the sums of two such calls. */
const sumPadding = 64;

/** Columns of a block's panels, rounded up. */
function wholePanels(n: number): number {
  return Math.ceil(Math.min(columnBlock, n) / tileColumns) * tileColumns;
}

/** Number of threads: a pool's and the caller's. */
function roomsOf(threads: number): number {
  return threads + 1;
}

/** Bytes of scratch memory for {@link outerProduct}. */
export function outerScratch(m: number, n: number, threads: number): number {
  const packed = 4 * depth * (Math.min(rowBlock, m + 6) + wholePanels(n)) + roomsOf(threads) * tileBytes;
  // A product with few rows stores its sums.
  const sums = Math.min(m, maxFewRows) * (4 * n + sumPadding * Math.ceil(n / fewRowsColumns.least));
  return Math.max(packed, sums);
}

/** A range of panels of `b`: `total` panels from column `column` on, with `count` elements of k from `at` on. */
interface PanelRange {
  readonly at: number;
  readonly count: number;
  readonly column: number;
  readonly total: number;
}

/** Writes consecutive panels of `b`. */
export type PackPanels = (panels: PanelRange & { readonly to: number }) => Range;

/** Where panels are stored, and how to write them if they are not. */
interface Panels {
  readonly address: number;
  readonly panelBytes: number;
  readonly pack?: Range;
}

/** `y = a · b` in register tiles, with panels of `b [k, n]` from `panelsOf`, block by block. */
function tiledProduct(
  exports: Exports,
  threads: number,
): (product: Omit<Product, "b">, panelsOf: (range: PanelRange) => Panels) => Iterable<Stage> {
  const [packA, tiles] = [exports("outer.packA"), exports("outer.tiles")];
  const packRows = (from: number, to: number, rows: number, rowBytes: number, k: number): readonly Call[] => {
    const slice = threads === 1 ? rows : rowSlice;
    return Array.from({ length: Math.ceil(rows / slice) }, (_, index) => {
      const row = index * slice;
      return { fn: packA, args: [from + rowBytes * row, to + 4 * k * row, Math.min(slice, rows - row), rowBytes, k] };
    });
  };
  return function* ({ a, y, m, n, k, scratch: spills }, panelsOf) {
    const packed = packedRowsAt(spills, n, threads);
    for (let column = 0; column < n; column += columnBlock) {
      const columns = Math.min(columnBlock, n - column);
      const total = Math.ceil(columns / tileColumns);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        const { address, panelBytes, pack } = panelsOf({ at, count, column, total });
        if (pack !== undefined) yield pack;
        for (let row = 0; row < m; row += rowBlock) {
          const rows = Math.min(rowBlock, m - row);
          yield packRows(a + 4 * (row * k + at), packed, rows, 4 * k, count);
          const to = y + 4 * (row * n + column);
          const args = [packed, address, panelBytes, to, count, 4 * n, rows, columns, at === 0 ? 1 : 0, spills];
          yield { fn: tiles, args, total, grain: sharedUnits(rows * count * tileColumns, rows * count * columns, threads) };
        }
      }
    }
  };
}

/** Address of packed panels of `b` in scratch memory, after the threads' tiles. */
function packedPanelsAt(scratch: number, threads: number): number {
  return scratch + roomsOf(threads) * tileBytes;
}

/** Address of packed rows of `a`. */
function packedRowsAt(scratch: number, n: number, threads: number): number {
  return packedPanelsAt(scratch, threads) + 4 * depth * wholePanels(n);
}

/** `y = a · b` with panels of `b [k, n]` that `pack` writes, block by block. */
export function packedProduct(exports: Exports, threads: number): (product: Omit<Product, "b">, pack: PackPanels) => Iterable<Stage> {
  const multiply = tiledProduct(exports, threads);
  return (product, pack) => {
    const to = packedPanelsAt(product.scratch, threads);
    return multiply(product, (range) => ({ address: to, panelBytes: 4 * tileColumns * range.count, pack: pack({ ...range, to }) }));
  };
}

/** `y = a · b` for `b [k, n]` stored in panels over all of k. */
export function panelProduct(exports: Exports, threads: number): (product: Product) => Iterable<Stage> {
  const vector = exports("outer.vector");
  const multiply = tiledProduct(exports, threads);
  const unit = rowPanels * tileColumns;
  return function* (product) {
    const { a, b, y, m, n, k } = product;
    if (m >= minPackedRows) {
      const panelBytes = 4 * tileColumns * k;
      yield* multiply(product, ({ at, column }) => ({ address: b + 4 * (column * k + tileColumns * at), panelBytes }));
      return;
    }
    // With several rows, panels are in the cache from the second row on.
    const cached = m === 1 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(cachedBytes / (4 * unit * k)));
    const chunk = unit * Math.min(cached, sharedUnits(unit * k * m, n * k * m, threads));
    const calls: Call[] = [];
    for (let from = 0; from < n; from += chunk) {
      const columns = Math.min(chunk, n - from);
      const rowCall = (row: number): Call => {
        return { fn: vector, args: [a + 4 * k * row, b + 4 * k * from, y + 4 * (n * row + from), k, columns] };
      };
      calls.push({ ...rowCall(0), chained: Array.from({ length: m - 1 }, (_, i) => rowCall(i + 1)) });
    }
    yield calls;
  };
}

/** `y = a · b` for row-major `b [k, n]` of `dtype`. */
export function outerProduct(exports: Exports, dtype: DType, threads: number): (product: Product) => Iterable<Stage> {
  const [fewRows, direct, packB] = [exports("outer.fewRows"), exports("outer.direct"), exports(`outer.packB.${dtype}`)];
  const multiplyPacked = packedProduct(exports, threads);
  const { bytes } = layoutOf(dtype);
  const isPlain = dtype === "f32";

  return function* ({ a, b, y, m, n, k, scratch }) {
    const rowBytes = bytes * n;
    const isSmall = m * n * k <= (threads === 1 ? directLimit : singleLimit);
    if (isPlain && m <= maxFewRows && !(isSmall && m >= minPackedRows)) {
      const { least, most, perRow } = fewRowsColumns;
      const fitting = Math.min(most, perRow / m, sharedUnits(k * m, n * k * m, threads));
      const chunk = Math.max(least, Math.floor(fitting / least) * least);
      const calls: Call[] = [];
      for (let from = 0; from < n; from += chunk) {
        const sums = scratch + m * (4 * from + sumPadding * (from / least));
        calls.push({ fn: fewRows, args: [a, b + 4 * from, y + 4 * from, m, k, Math.min(chunk, n - from), 4 * k, rowBytes, 4 * n, sums] });
      }
      yield calls;
      return;
    }
    if (isPlain && isSmall) {
      for (let at = 0; at < k; at += depth) {
        direct(a + 4 * at, b + rowBytes * at, y, 4 * k, rowBytes, Math.min(depth, k - at), m, n, at === 0 ? 1 : 0, scratch);
      }
      return;
    }
    yield* multiplyPacked({ a, y, m, n, k, scratch }, ({ to, at, count, column, total }) => ({
      fn: packB,
      args: [b + at * rowBytes + column * bytes, to, rowBytes, count],
      total,
      grain: panelsPerLine,
    }));
  };
}
