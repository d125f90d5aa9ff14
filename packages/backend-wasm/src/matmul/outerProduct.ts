import { type DType, layoutOf } from "@centella/core";
import type { Call, Exports, Pause } from "../kernel.ts";
import { outer } from "./outer.ts";
import { fewRows, Pacer, type Product, sharedUnits } from "./product.ts";

const { depth, tileColumns } = outer;

/** Rows of `a` that are packed at once, a multiple of both tile heights: half a MiB with {@link outer.depth}. */
const rowBlock = 252;

/** Columns of `b` that are packed at once: whole cache lines, 128 KiB with {@link outer.depth}. */
const columnBlock = 64;

const largestTile = 6 * tileColumns;

/** Columns of `b` that several threads pack and multiply at once: enough tiles to end together. */
const sharedColumns = 512;

/** Multiply-adds up to which packing costs more than it saves, and up to which one thread is as fast as several. */
const directLimit = 128 ** 3;
const singleLimit = 64 ** 3;

/** Rows of `a` that multiply every element of `b` so few times that it is not worth packing. */
const directRows = 12;

/** Columns that one call of a product with a few rows takes at least, and what separates the sums of one with a single row. */
const leastVector = 64;
const vectorPadding = 64;

/** Bytes of scratch memory for {@link outerProduct}. */
export function outerScratch(m: number, n: number, threads: number): number {
  const columns = threads > 1 ? sharedColumns : columnBlock;
  const packed = 4 * depth * (Math.min(rowBlock, m + 6) + columns) + 4 * largestTile * Math.ceil(columns / tileColumns);
  // A product with few rows needs its sums, or a tile for each call.
  return Math.max(packed, 4 * n + Math.max(vectorPadding, 4 * largestTile) * Math.ceil(n / leastVector));
}

/** `y = a · b` for `b [k, n]` of `dtype` with rows side by side. */
export function outerProduct(exports: Exports, dtype: DType, threads: number): (product: Product) => Iterable<Pause> {
  const [vector, direct] = [exports("outer.vector"), exports("outer.direct")];
  const [packA, packB, tile] = [exports("outer.packA"), exports(`outer.packB.${dtype}`), exports("outer.tile")];
  const { bytes } = layoutOf(dtype);

  /** The same sums, with the packing of `b` and the tiles cut into calls. */
  function* share({ a, b, y, m, n, k, scratch }: Product): Iterable<Pause> {
    const rowBytes = bytes * n;
    const firstPanel = scratch + 4 * largestTile * (sharedColumns / tileColumns);
    const packed = firstPanel + 4 * depth * sharedColumns;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        const packs: Call[] = [{ fn: packA, args: [a + 4 * (row * k + at), packed, rows, 4 * k, count] }];
        for (let first = 0; first < n; first += sharedColumns) {
          const end = Math.min(n, first + sharedColumns);
          for (let column = first; column < end; column += columnBlock) {
            const panels = Math.ceil(Math.min(columnBlock, end - column) / tileColumns);
            const to = firstPanel + 4 * count * (column - first);
            packs.push({ fn: packB, args: [b + at * rowBytes + column * bytes, to, rowBytes, count, panels] });
          }
          yield packs.splice(0);
          const tiles: Call[] = [];
          for (let column = first; column < end; column += tileColumns) {
            const columns = Math.min(tileColumns, n - column);
            const panel = firstPanel + 4 * count * (column - first);
            const spill = scratch + 4 * largestTile * ((column - first) / tileColumns);
            const to = y + 4 * (row * n + column);
            tiles.push({ fn: tile, args: [packed, panel, to, count, 4 * n, rows, columns, at === 0 ? 1 : 0, spill] });
          }
          yield tiles;
        }
      }
    }
  }

  return function* ({ a, b, y, m, n, k, scratch }) {
    const rowBytes = bytes * n;
    if (m < fewRows && dtype === "f32") {
      const chunk = Math.ceil(sharedUnits(k, n * k, threads) / leastVector) * leastVector;
      for (let row = 0; row < m; row++) {
        const calls: Call[] = [];
        for (let from = 0; from < n; from += chunk) {
          const sums = scratch + 4 * from + vectorPadding * (from / leastVector);
          const columns = Math.min(chunk, n - from);
          calls.push({ fn: vector, args: [a + 4 * row * k, b + 4 * from, y + 4 * (row * n + from), k, columns, rowBytes, sums] });
        }
        yield calls;
      }
      return;
    }
    if (dtype === "f32" && (m <= directRows || m * n * k <= (threads === 1 ? directLimit : singleLimit))) {
      const chunk = m * n * k <= directLimit ? n : Math.ceil(sharedUnits(k * m, n * k * m, threads) / leastVector) * leastVector;
      for (let at = 0; at < k; at += depth) {
        const calls: Call[] = [];
        for (let from = 0; from < n; from += chunk) {
          const spill = scratch + 4 * largestTile * (from / leastVector);
          const [at4, count, columns] = [4 * at, Math.min(depth, k - at), Math.min(chunk, n - from)];
          const [rows, to] = [b + 4 * (at * n + from), y + 4 * from];
          calls.push({ fn: direct, args: [a + at4, rows, to, 4 * k, 4 * n, count, m, columns, at === 0 ? 1 : 0, spill] });
        }
        yield calls;
      }
      return;
    }
    if (threads > 1) return yield* share({ a, b, y, m, n, k, scratch });
    const pacer = new Pacer();
    const spill = scratch;
    const firstPanel = spill + 4 * largestTile;
    const packed = firstPanel + 4 * depth * columnBlock;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (row * k + at), packed, rows, 4 * k, count);
        for (let column = 0; column < n; column += tileColumns) {
          const inBlock = column % columnBlock;
          if (inBlock === 0) {
            const panels = Math.ceil(Math.min(columnBlock, n - column) / tileColumns);
            packB(b + at * rowBytes + column * bytes, firstPanel, rowBytes, count, panels);
          }
          const columns = Math.min(tileColumns, n - column);
          const panel = firstPanel + 4 * count * inBlock;
          tile(packed, panel, y + 4 * (row * n + column), count, 4 * n, rows, columns, at === 0 ? 1 : 0, spill);
          if (pacer.due(rows * columns * count)) yield;
        }
      }
    }
  };
}
