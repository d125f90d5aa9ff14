import { type DType, layoutOf } from "@centella/core";
import type { Exports } from "../kernel.ts";
import { outer } from "./outer.ts";
import { fewRows, Pacer, type Product } from "./product.ts";

const { depth, tileColumns } = outer;

/** Rows of `a` that are packed at once, a multiple of both tile heights: half a MiB with {@link outer.depth}. */
const rowBlock = 252;

/** Columns of `b` that are packed at once: whole cache lines, 128 KiB with {@link outer.depth}. */
const columnBlock = 64;

const largestTile = 6 * tileColumns;

/** Bytes of scratch memory for {@link outerProduct}. */
export function outerScratch(m: number, n: number): number {
  const packed = 4 * depth * (Math.min(rowBlock, m + 6) + columnBlock) + 4 * largestTile;
  return Math.max(packed, 4 * n + 16);
}

/** `y = a · b` for `b [k, n]` of `dtype` with rows side by side. */
export function outerProduct(exports: Exports, dtype: DType): (product: Product) => Iterable<undefined> {
  const vector = exports("outer.vector");
  const [packA, packB, tile] = [exports("outer.packA"), exports(`outer.packB.${dtype}`), exports("outer.tile")];
  const { bytes } = layoutOf(dtype);
  return function* ({ a, b, y, m, n, k, scratch }) {
    const rowBytes = bytes * n;
    if (m < fewRows && dtype === "f32") {
      const chunk = Math.max(16, Math.floor(Pacer.units(k) / 16) * 16);
      for (let row = 0; row < m; row++) {
        for (let from = 0; from < n; from += chunk) {
          vector(a + 4 * row * k, b + 4 * from, y + 4 * (row * n + from), k, Math.min(chunk, n - from), rowBytes, scratch);
          yield;
        }
      }
      return;
    }
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
