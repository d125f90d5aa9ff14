import { type DType, layoutOf } from "@centella/core";
import type { Exports } from "../kernel.ts";
import { outer } from "./outer.ts";
import { fewRows, Pacer, type Product } from "./product.ts";

const { depth, tileColumns } = outer;

/** Rows of `a` that are packed at once, a multiple of both tile heights: half a MiB with {@link outer.depth}. */
const rowBlock = 516;
const largestTile = 6 * tileColumns;

/** Bytes of scratch memory for {@link outerProduct}. */
export function outerScratch(m: number, n: number): number {
  const packed = 4 * depth * (Math.min(rowBlock, m + 6) + tileColumns) + 4 * largestTile;
  return Math.max(packed, 4 * n + 16);
}

/** `y = a · b` for `b [k, n]` of `dtype` with rows side by side. */
export function outerProduct(exports: Exports, dtype: DType): (product: Product) => Iterable<void> {
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
    const panel = spill + 4 * largestTile;
    const packed = panel + 4 * depth * tileColumns;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (row * k + at), packed, rows, 4 * k, count);
        for (let column = 0; column < n; column += tileColumns) {
          const columns = Math.min(tileColumns, n - column);
          packB(b + at * rowBytes + column * bytes, panel, rowBytes, count);
          tile(packed, panel, y + 4 * (row * n + column), count, 4 * n, rows, columns, at === 0 ? 1 : 0, spill);
          if (pacer.due(rows * columns * count)) yield;
        }
      }
    }
  };
}
