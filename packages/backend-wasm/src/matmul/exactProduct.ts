import { groupRows } from "../formats/block.ts";
import { type FormatName, formatOf } from "../formats/index.ts";
import { rowBytesOf } from "../formats/interleave.ts";
import type { Call, Exports, Pause } from "../kernel.ts";
import type { Target } from "../target.ts";
import { panelBytes } from "./exactGroups.ts";
import { outer, outerTileRows, rowPanels } from "./outer.ts";
import { fewRows, type Product, sharedUnits } from "./product.ts";

const { depth, tileColumns } = outer;

/** Rows of `a` that are packed at once, a multiple of both tile heights: half a MiB with {@link outer.depth}. */
const rowBlock = 252;

/** Calls that run at the same time at most, each with room of its own. */
const rooms = (threads: number): number => (threads === 1 ? 1 : 4 * threads);

const roomBytes = rowPanels * panelBytes;

/** Bytes of scratch memory for {@link exactProduct}. */
export function exactScratch(target: Target, threads: number): (m: number) => number {
  return (m) => rooms(threads) * roomBytes + 4 * depth * (Math.min(rowBlock, m) + outerTileRows(target));
}

/** `y = a · bᵀ` for interleaved block weights `b [n, k]`, which are decoded on the way, a few rows at a time. */
export function exactProduct(exports: Exports, form: FormatName, threads: number): (product: Product) => Iterable<Pause> {
  const [packA, tiles, rowsOnce] = [exports("outer.packA"), exports(`exact.${form}`), exports(`exactRows.${form}`)];
  const { elements, bytes } = formatOf(form);
  const most = rooms(threads);

  /** Calls over chunks of rows of `b`, as many at a time as there is room for. */
  function* inChunks(n: number, work: number, total: number, unit: number, scratch: number, call: Chunk): Iterable<Pause> {
    const chunk = Math.ceil(sharedUnits(work, total, threads) / unit) * unit;
    const calls: Call[] = [];
    for (let row = 0; row < n; row += chunk) {
      calls.push(call(row, Math.min(chunk, n - row), scratch + calls.length * roomBytes));
      if (calls.length === most) yield calls.splice(0);
    }
    yield calls;
  }

  return function* ({ a, b, y, m, n, k, scratch }) {
    const rowBytes = rowBytesOf(form, k);
    const groupBytes = groupRows * rowBytes;
    if (m < fewRows) {
      yield* inChunks(n, k * m, n * m * k, rowPanels * groupRows, scratch, (row, rows, room) => ({
        fn: rowsOnce,
        args: [b + row * rowBytes, a, y + 4 * row, rows, groupBytes, k, 4 * k, 4 * n, m, room],
      }));
      return;
    }
    const packed = scratch + most * roomBytes;
    for (let token = 0; token < m; token += rowBlock) {
      const tokens = Math.min(rowBlock, m - token);
      for (let at = 0; at < k; at += depth) {
        const count = Math.min(depth, k - at);
        packA(a + 4 * (token * k + at), packed, tokens, 4 * k, count);
        const from = b + (at / elements) * bytes * groupRows;
        yield* inChunks(n, count * tokens, n * count * tokens, tileColumns, scratch, (row, rows, room) => ({
          fn: tiles,
          args: [from + row * rowBytes, packed, y + 4 * (token * n + row), rows, groupBytes, count, 4 * n, tokens, at === 0 ? 1 : 0, room],
        }));
      }
    }
  };
}

type Chunk = (row: number, rows: number, room: number) => Call;
