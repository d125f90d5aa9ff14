import { type DType, layoutOf } from "@centella/core";
import type { Call, Exports, Pause } from "../kernel.ts";
import { inner } from "./inner.ts";
import { fewRows, Pacer, type Product, sharedUnits } from "./product.ts";

const { depth, tileRows, tileColumns } = inner;

/** Rows of `a` that are packed at once: 768 KiB with {@link inner.depth}. */
const rowBlock = 384;

/** Bytes of scratch memory for {@link innerProduct}. */
export function innerScratch(m: number): number {
  const rows = Math.min(rowBlock, Math.ceil(m / tileRows) * tileRows);
  return 4 * depth * (rows + tileColumns);
}

/** `y = a · bᵀ` for `b [n, k]` of `dtype` with rows side by side. */
export function innerProduct(exports: Exports, dtype: DType, threads: number): (product: Product) => Iterable<Pause> {
  const vector = exports(`inner.vector.${dtype}`);
  const [packA, packB, tile] = [exports(`inner.pack${tileRows}.f32`), exports(`inner.pack${tileColumns}.${dtype}`), exports("inner.tile")];
  const { bytes } = layoutOf(dtype);
  return function* ({ a, b, y, m, n, k, scratch }) {
    const rowBytes = k * bytes;
    if (m < fewRows) {
      const chunk = Math.ceil(sharedUnits(k, n * m * k, threads) / 4) * 4;
      const calls: Call[] = [];
      for (let row = 0; row < m; row++) {
        for (let from = 0; from < n; from += chunk) {
          const to = y + 4 * (row * n + from);
          calls.push({ fn: vector, args: [b + from * rowBytes, a + 4 * row * k, to, Math.min(chunk, n - from), rowBytes, k] });
        }
      }
      yield calls;
      return;
    }
    const pacer = new Pacer();
    const panel = scratch;
    const packed = panel + 4 * depth * tileColumns;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (row * k + at), packed, rows, 4 * k, count);
        for (let column = 0; column < n; column += tileColumns) {
          const columns = Math.min(tileColumns, n - column);
          packB(b + column * rowBytes + at * bytes, panel, columns, rowBytes, count);
          tile(packed, panel, y + 4 * (row * n + column), Math.ceil(count / 4), 4 * n, rows, columns, at === 0 ? 1 : 0);
          if (pacer.due(rows * columns * count)) yield;
        }
      }
    }
  };
}
