import type { DType } from "@centella/core";
import { layoutOf } from "@centella/core/backend";
import type { Call, Exports, Stage } from "../kernel.ts";
import { inner, innerPanelBytes } from "./inner.ts";
import { minPackedRows, type Product, sharedUnits } from "./product.ts";

const { depth, tileRows, tileColumns } = inner;

/** Rows of `a` that are packed together: 768 KiB with {@link inner.depth}. */
const rowBlock = 384;

/** Maximum rows for which f32 weights are multiplied in place. */
const maxInPlace = 16;

/** Bytes of scratch memory for {@link innerProduct}. */
export function innerScratch(maxThreads: number): (m: number) => number {
  return (m) => maxThreads * innerPanelBytes + 4 * depth * Math.min(rowBlock, Math.ceil(m / tileRows) * tileRows);
}

/** `y = a · bᵀ` for row-major `b [n, k]` of `dtype`. */
export function innerProduct(exports: Exports, dtype: DType, threads: number, maxThreads: number): (product: Product) => Iterable<Stage> {
  const [vector, packA, tiles] = [exports(`inner.vector.${dtype}`), exports(`inner.pack${tileRows}.f32`), exports(`inner.tiles.${dtype}`)];
  const fewRows = dtype === "f32" ? exports("inner.fewRows") : undefined;
  const { bytes } = layoutOf(dtype);

  /** Computes columns `begin` to `n`, row by row. */
  function* rowByRow({ a, b, y, m, n, k }: Product, begin: number): Iterable<Call> {
    const rowBytes = k * bytes;
    const chunk = Math.ceil(sharedUnits(k, n * m * k, threads) / 4) * 4;
    for (let row = 0; row < m; row++) {
      for (let from = begin; from < n; from += chunk) {
        const to = y + 4 * (row * n + from);
        yield { fn: vector, args: [b + from * rowBytes, a + 4 * row * k, to, Math.min(chunk, n - from), rowBytes, k] };
      }
    }
  }

  /** Computes columns 0 to `end`, a multiple of the tile's. */
  function* inPlace(fn: NonNullable<typeof fewRows>, { a, b, y, m, n, k }: Product, end: number): Iterable<Call> {
    const rowBytes = k * bytes;
    const chunk = sharedUnits(m * k * tileColumns, n * m * k, threads) * tileColumns;
    for (let from = 0; from < end; from += chunk) {
      const count = Math.min(chunk, end - from) / tileColumns;
      yield { fn, args: [b + from * rowBytes, a, y + 4 * from, count, rowBytes, k, m, 4 * n] };
    }
  }

  return function* (product) {
    const { a, b, y, m, n, k, scratch } = product;
    const rowBytes = k * bytes;
    if (fewRows !== undefined && m > 1 && m <= maxInPlace && k % 4 === 0) {
      const whole = n - (n % tileColumns);
      yield [...inPlace(fewRows, product, whole), ...rowByRow(product, whole)];
      return;
    }
    if (m < minPackedRows) {
      yield [...rowByRow(product, 0)];
      return;
    }
    const packed = scratch + maxThreads * innerPanelBytes;
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
