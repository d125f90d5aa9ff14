import { layoutOf } from "@centella/core/backend";
import type { Call, Exports, Stage } from "../kernel.ts";
import { halfRows, halvesDepth, halvesPanelBytes, splitLength } from "./halves.ts";
import { inner, innerPanelBytes } from "./inner.ts";
import { minPackedRows, type Product, sharedUnits } from "./product.ts";

const { tileRows, tileColumns } = inner;

/** Elements of `a` that are packed together: 768 KiB. */
const packedElements = 384 * inner.depth;

/** How both operands are packed, by type of the weights. */
interface Packing {
  /** Elements of k per block. */
  readonly depth: number;
  readonly panelBytes: number;
  /** The function that packs rows of `a`. */
  readonly pack: string;
}

const plain: Packing = { depth: inner.depth, panelBytes: innerPanelBytes, pack: `inner.pack${tileRows}` };
const halves: Packing = { depth: halvesDepth, panelBytes: halvesPanelBytes, pack: `inner.splitPack${tileRows}` };

/** Maximum rows for which f32 weights are multiplied in place. */
const maxInPlace = 16;

/** Maximum rows for which 16-bit weights are multiplied in place: further ones cost more than widening to panels. */
const maxHalvesInPlace = 12;

/** Bytes of scratch memory for {@link innerProduct}. */
export function innerScratch(maxThreads: number): (m: number) => number {
  return packedScratch(plain, maxThreads);
}

function packedScratch({ depth, panelBytes }: Packing, maxThreads: number): (m: number) => number {
  return (m) => maxThreads * panelBytes + 4 * Math.min(packedElements, depth * Math.ceil(m / tileRows) * tileRows);
}

/** `y = a · bᵀ` for row-major `b [n, k]` of f32. */
export function innerProduct(exports: Exports, threads: number, maxThreads: number): (product: Product) => Iterable<Stage> {
  const [vector, fewRows] = [exports("inner.vector.f32"), exports("inner.fewRows")];
  const multiplyPacked = packedInner(exports, plain, "f32", threads, maxThreads);

  /** Computes columns `begin` to `n`, row by row. */
  function* rowByRow({ a, b, y, m, n, k }: Product, begin: number): Iterable<Call> {
    const rowBytes = 4 * k;
    const chunk = Math.ceil(sharedUnits(k, n * m * k, threads) / 4) * 4;
    for (let row = 0; row < m; row++) {
      for (let from = begin; from < n; from += chunk) {
        const to = y + 4 * (row * n + from);
        yield { fn: vector, args: [b + from * rowBytes, a + 4 * row * k, to, Math.min(chunk, n - from), rowBytes, k] };
      }
    }
  }

  /** Computes columns 0 to `end`, a multiple of the tile's. */
  function* inPlace({ a, b, y, m, n, k }: Product, end: number): Iterable<Call> {
    const rowBytes = 4 * k;
    const chunk = sharedUnits(m * k * tileColumns, n * m * k, threads) * tileColumns;
    for (let from = 0; from < end; from += chunk) {
      const count = Math.min(chunk, end - from) / tileColumns;
      yield { fn: fewRows, args: [b + from * rowBytes, a, y + 4 * from, count, rowBytes, k, m, 4 * n] };
    }
  }

  return function* (product) {
    const { m, n, k } = product;
    const isInPlace = m > 1 && m <= maxInPlace && k % 4 === 0;
    const whole = isInPlace ? n - (n % tileColumns) : 0;
    if (isInPlace || m < minPackedRows) yield [...inPlace(product, whole), ...rowByRow(product, whole)];
    else yield* multiplyPacked(product);
  };
}

/** Bytes of scratch memory for {@link halvesProduct}. */
export function halvesScratch(maxThreads: number): (m: number, n: number, k: number) => number {
  const packedBytes = packedScratch(halves, maxThreads);
  return (m, _n, k) => Math.max(packedBytes(m), 4 * Math.min(maxHalvesInPlace, m) * splitLength(k));
}

/** `y = a · bᵀ` for row-major `b [n, k]` of a 16-bit type. */
export function halvesProduct(
  exports: Exports,
  dtype: "f16" | "bf16",
  threads: number,
  maxThreads: number,
): (product: Product) => Iterable<Stage> {
  const [split, vector, fewRows] = [exports(`inner.split.${dtype}`), exports(`inner.vector.${dtype}`), exports(`inner.fewRows.${dtype}`)];
  const multiplyPacked = packedInner(exports, halves, dtype, threads, maxThreads);
  return function* (product) {
    const { a, b, y, m, n, k, scratch } = product;
    if (m > maxHalvesInPlace) return yield* multiplyPacked(product);
    yield [{ fn: split, args: [a, scratch, m, k] }];
    const chunk = Math.ceil(sharedUnits(m * k, n * m * k, threads) / halfRows) * halfRows;
    yield Array.from({ length: Math.ceil(n / chunk) }, (_, i): Call => {
      const from = i * chunk;
      const rows = Math.min(chunk, n - from);
      return { fn: m === 1 ? vector : fewRows, args: [b + 2 * from * k, a, y + 4 * from, rows, 2 * k, k, scratch, m, 4 * n] };
    });
  };
}

/** Products of packed panels. Each thread packs those of `b`. */
function packedInner(
  exports: Exports,
  { depth, panelBytes, pack }: Packing,
  dtype: "f32" | "f16" | "bf16",
  threads: number,
  maxThreads: number,
): (product: Product) => Iterable<Stage> {
  const [packA, tiles] = [exports(pack), exports(`inner.tiles.${dtype}`)];
  const { bytes } = layoutOf(dtype);
  const rowBlock = packedElements / depth;
  return function* ({ a, b, y, m, n, k, scratch }) {
    const packed = scratch + maxThreads * panelBytes;
    for (let row = 0; row < m; row += rowBlock) {
      const rows = Math.min(rowBlock, m - row);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (row * k + at), packed, rows, 4 * k, count);
        const args = [packed, b + at * bytes, y + 4 * row * n, n, count, k * bytes, 4 * n, rows, at === 0 ? 1 : 0, scratch];
        const work = rows * count * tileColumns;
        yield { fn: tiles, args, total: Math.ceil(n / tileColumns), grain: sharedUnits(work, rows * count * n, threads) };
      }
    }
  };
}
