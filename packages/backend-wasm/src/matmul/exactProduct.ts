import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Call, Exports, Stage } from "../kernel.ts";
import type { Target } from "../target.ts";
import { exactScratchBytes } from "./exactGroups.ts";
import { outer, outerTileRows, rowPanels } from "./outer.ts";
import { minPackedRows, type Product, sharedUnits } from "./product.ts";

const { depth } = outer;

/** Rows of `a` that are packed together, a multiple of both tile heights: half a MiB with {@link outer.depth}. */
const rowBlock = 252;

/** Bytes of scratch memory for {@link exactProduct}. */
export function exactScratch(target: Target, maxThreads: number): (m: number) => number {
  return (m) => maxThreads * exactScratchBytes + 4 * depth * (Math.min(rowBlock, m) + outerTileRows(target));
}

/** `y = a · bᵀ` for interleaved block weights `b [n, k]`, which are decoded a few rows at a time. */
export function exactProduct(
  exports: Exports,
  form: FormatName,
  threads: number,
  maxThreads: number,
): (product: Product) => Iterable<Stage> {
  const [packA, tiles, fewRows] = [exports("outer.packA"), exports(`exact.${form}`), exports(`exactRows.${form}`)];
  const { elements, bytes } = formatOf(form);
  return function* ({ a, b, y, m, n, k, scratch }) {
    const groupBytes = groupRows * rowBytesOf(form, k);
    if (m < minPackedRows) {
      const unit = rowPanels * groupRows;
      const chunk = Math.ceil(sharedUnits(k * m, n * m * k, threads) / unit) * unit;
      const calls: Call[] = [];
      for (let row = 0; row < n; row += chunk) {
        const from = b + (row / groupRows) * groupBytes;
        calls.push({ fn: fewRows, args: [from, a, y + 4 * row, Math.min(chunk, n - row), groupBytes, k, 4 * k, 4 * n, m, scratch] });
      }
      yield calls;
      return;
    }
    const packed = scratch + maxThreads * exactScratchBytes;
    for (let token = 0; token < m; token += rowBlock) {
      const tokens = Math.min(rowBlock, m - token);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (token * k + at), packed, tokens, 4 * k, count);
        const from = b + (at / elements) * bytes * groupRows;
        const args = [from, packed, y + 4 * token * n, n, groupBytes, count, 4 * n, tokens, at === 0 ? 1 : 0, scratch];
        const work = groupRows * count * tokens;
        yield { fn: tiles, args, total: Math.ceil(n / groupRows), grain: sharedUnits(work, n * count * tokens, threads) };
      }
    }
  };
}
