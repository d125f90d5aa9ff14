import { type DType, layoutOf } from "@centella/core";
import type { Call, Exports, Pause } from "../kernel.ts";
import { inner, innerPanelBytes } from "./inner.ts";
import { fewRows, type Product, sharedUnits } from "./product.ts";

const { depth, tileRows, tileColumns } = inner;

/** Rows of `a` that are packed at once: 768 KiB with {@link inner.depth}. */
const rowBlock = 384;

/** Bytes of scratch memory for {@link innerProduct}. */
export function innerScratch(rooms: number): (m: number) => number {
  return (m) => rooms * innerPanelBytes + 4 * depth * Math.min(rowBlock, Math.ceil(m / tileRows) * tileRows);
}

/** `y = a · bᵀ` for `b [n, k]` of `dtype` with rows side by side. */
export function innerProduct(exports: Exports, dtype: DType, threads: number, rooms: number): (product: Product) => Iterable<Pause> {
  const [vector, packA, tiles] = [exports(`inner.vector.${dtype}`), exports(`inner.pack${tileRows}.f32`), exports(`inner.tiles.${dtype}`)];
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
    const packed = scratch + rooms * innerPanelBytes;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (row * k + at), packed, rows, 4 * k, count);
        const args = [packed, b + at * bytes, y + 4 * row * n, n, count, rowBytes, 4 * n, rows, at === 0 ? 1 : 0, scratch];
        const work = rows * count * tileColumns;
        yield { fn: tiles, args, total: Math.ceil(n / tileColumns), grain: sharedUnits(work, rows * count * n, threads) };
      }
    }
  };
}
