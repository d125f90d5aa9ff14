import { asValue, type Extent, type F32, isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Shared } from "../../../ptx/types.ts";
import type { WarpgroupSums } from "../../../ptx/warpgroup.ts";
import { hasTilePower, unitRows } from "../../../weights/unitFormat.ts";
import { lanes, warpgroupLanes } from "../../shared/gpu.ts";
import { fixed, type Scope } from "../../shared/kernel.ts";
import { inResultOfTile } from "../manyRows/columns.ts";
import type { UnitResult } from "../segments.ts";
import { finishPitch, finishRows, type MixedSizes, warpgroupTiles } from "./sizes.ts";
import type { TilePart } from "./tileSplit.ts";
import { type WarpPlace, warpgroupColumns } from "./unitSource.ts";

/** Stores the results of tiles through their epilogues. */
export class TileFinisher {
  readonly #scope: Scope;
  readonly #sizes: MixedSizes;
  readonly #rows: Extent;
  readonly #place: WarpPlace;
  /** Sums of the warpgroup: rows of activations, with the columns of each product side by side. */
  readonly #sums: Shared<"f32">;

  constructor(scope: Scope, sizes: MixedSizes, rows: Extent, place: WarpPlace) {
    const { k } = scope;
    this.#scope = scope;
    this.#sizes = sizes;
    this.#rows = rows;
    this.#place = place;
    const all = k.sharedMemory("f32", sizes.warpgroups * finishRows * finishPitch);
    this.#sums = k.sharedAt("f32", all, k.mul(place.warpgroup, finishRows * finishPitch));
  }

  /** Stores the results of a tile. `power` is what the warp's weights were multiplied by. All threads of the warpgroup must take part. */
  finish(sums: WarpgroupSums, { column, rowTile }: TilePart, power: F32): void {
    const { k } = this.#scope;
    const { perTile, columns } = this.#sizes;
    // Exact: the exponent of the inverse of a power of two.
    const inverse = k.bitcast("f32", k.sub(k.constant("u32", 254 * 2 ** 23), k.bitcast("u32", power)));
    const finishPart = (part: U32 | 0, put: () => void): void => {
      const lines = this.#lines(k.mad(rowTile, perTile, part === 0 ? k.constant("u32", 0) : k.mul(part, finishRows)));
      put();
      this.#sync();
      inResultOfTile(k, columns, column, (result, index, own) => this.#storeRows(result, index, own, lines));
      this.#sync();
    };
    const put = (part: number): void => this.#put(sums, part * finishRows, hasPowers(this.#sizes) ? inverse : undefined);
    const parts = perTile / finishRows;
    if (parts === 1) finishPart(0, () => put(0));
    // Only what names the registers of sums is written for each part: with epilogues for each, texts are up to three times as long.
    else k.for(0, parts, 1, (part) => finishPart(part, () => inBranch(k, part, { first: 0, end: parts }, put)));
  }

  /** The rows whose results a thread stores, from row `first` of activations on. Rows past the last one repeat it. */
  #lines(first: U32): readonly Line[] {
    const { k } = this.#scope;
    const step = warpgroupLanes / warpgroupColumns(this.#sizes);
    const last = k.sub(asValue(k, this.#rows), 1);
    const own = k.add(first, k.shiftRight(k.and(k.thread(), warpgroupLanes - 1), Math.log2(warpgroupLanes / step)));
    return Array.from({ length: finishRows / step }, (_, i) => {
      const line = k.add(own, i * step);
      const safe = k.min(line, last);
      return { line, safe, factor: k.ld("f32", k.at("f32", k.pointer("factors", "f32"), safe)) };
    });
  }

  /** Writes the warp's sums of some rows of activations to shared memory. */
  #put(sums: WarpgroupSums, first: number, inverse: F32 | undefined): void {
    const { k } = this.#scope;
    const lane = k.and(k.thread(), lanes - 1);
    const row = k.shiftLeft(k.and(lane, 3), 1);
    const column = k.mad(k.and(k.shiftRight(k.thread(), 5), warpgroupTiles - 1), unitRows, k.shiftRight(lane, 2));
    const to = k.sharedAt("f32", this.#sums, k.mad(row, finishPitch, column));
    for (let i = 0; i < finishRows / 2; i++) {
      const sum = sums.get(first / 2 + i);
      const [down, across] = [8 * (i >> 2) + (i & 1), 8 * ((i >> 1) & 1)];
      k.st("f32", to, inverse === undefined ? sum : k.mul(sum, inverse), down * finishPitch + across);
    }
  }

  /** Stores results of the rows that are in shared memory. A thread has one column. Columns past the last one repeat it. */
  #storeRows({ result, products }: UnitResult, index: number, own: U32, lines: readonly Line[]): void {
    const { k } = this.#scope;
    const { columns, warpgroups } = this.#sizes;
    const wide = warpgroupColumns(this.#sizes);
    const n = fixed(result.shape.at(-1));
    const thread = k.and(k.thread(), warpgroupLanes - 1);
    const within = k.and(thread, wide - 1);
    const column = k.add(k.mul(k.mad(own, warpgroups, this.#place.warpgroup), wide), within);
    const isWhole = n % columns.perTile === 0;
    const from = k.sharedAt("f32", this.#sums, k.mad(k.shiftRight(thread, Math.log2(wide)), finishPitch, within));
    const stores = lines.map(({ line, safe, factor }, i) => {
      const down = (i * warpgroupLanes) / wide;
      const terms = products.map((_, j) => k.mul(k.ld("f32", from, down * finishPitch + j * wide), factor));
      const at = k.mad(safe, n, isWhole ? column : k.min(column, n - 1));
      return { line, at, value: result.epilogue.apply(this.#scope, at, terms) };
    });
    for (const { line, at, value } of stores) {
      const isRow = isBelow(k, line, this.#rows);
      k.if(isWhole ? isRow : k.and(isRow, isBelow(k, column, n)), () => k.store(`y${index}`, at, value));
    }
  }

  #sync(): void {
    const { k } = this.#scope;
    k.syncSome(k.add(this.#place.warpgroup, 1), warpgroupLanes);
  }
}

/** Runs `body` for a number that is known when the text is written: one of those from `first` to before `end`, equal to `value`. */
function inBranch(
  k: PtxEmitter,
  value: U32,
  { first, end }: { readonly first: number; readonly end: number },
  body: (number: number) => void,
): void {
  if (end - first === 1) {
    body(first);
    return;
  }
  const middle = (first + end) >> 1;
  k.if(
    isBelow(k, value, middle),
    () => inBranch(k, value, { first, end: middle }, body),
    () => inBranch(k, value, { first: middle, end }, body),
  );
}

/** A row of activations whose results a thread stores. */
interface Line {
  readonly line: U32;
  /** The row, or the run's last one if the row is past it. */
  readonly safe: U32;
  readonly factor: F32;
}

function hasPowers({ formats }: MixedSizes): boolean {
  return formats.some(hasTilePower);
}
