import { elementAt } from "@centella/core/backend";
import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { Global, Shared } from "../../ptx/types.ts";
import type { WarpgroupSums } from "../../ptx/warpgroup.ts";
import { lanes } from "../shared/gpu.ts";
import type { Scope } from "../shared/kernel.ts";
import { type AttentionSizes, tileRows } from "./problem.ts";
import { type QueryBlock, rowPlace } from "./queryBlock.ts";

/** Columns of a warp's rows that pass through shared memory at a time, 128 bytes of each. */
const columns = 32;

/** Numbers from one of these rows to the next, so that no two lanes meet in a bank. */
const pitch = columns + 8;

/** Numbers that a lane stores at once, and rows that a warp does. */
const vector = 4;
const rowsTogether = (lanes * vector) / columns;

/** A row of a tile, as a lane stores it. */
interface StoredRow {
  readonly exists: Bool;
  readonly to: Global<"f32">;
}

/**
 * Stores rows of outputs. A lane has sums of two neighbouring columns in each eight: stored from there, each access would touch 32 bytes each of eight
 * rows. So they pass through shared memory, and a warp stores 128 bytes each of four rows at once.
 */
export class OutputRows {
  readonly #scope: Scope;
  readonly #sizes: AttentionSizes;
  readonly #memory: Shared<"f32">;

  /** For `warps` warps, the first ones of the block. */
  constructor(scope: Scope, sizes: AttentionSizes, warps: number) {
    const { k } = scope;
    this.#scope = scope;
    this.#sizes = sizes;
    const all = k.sharedMemory("f32", warps * tileRows * pitch, 16);
    this.#memory = k.sharedAt("f32", all, k.mul(k.shiftRight(k.thread(), 5), tileRows * pitch));
  }

  /** Stores the warp's rows of a tile: its sums times `shares`, of the lane's two rows. */
  store(block: QueryBlock, sums: WarpgroupSums, shares: readonly F32[]): void {
    const { k } = this.#scope;
    const lane = k.and(k.thread(), lanes - 1);
    const own = k.sharedAt("f32", this.#memory, k.mad(k.shiftRight(lane, 2), pitch, k.mul(k.and(lane, 3), 2)));
    const from = k.sharedAt("f32", this.#memory, k.mad(k.quotient(lane, columns / vector), pitch, this.#column(lane)));
    const rows = this.#rows(block, lane);
    for (let first = 0; first < this.#sizes.valueWidth; first += columns) {
      for (let column = 0; column < columns; column += 8)
        for (const [r, share] of shares.entries()) {
          const place = (first + column) / 2 + 2 * r;
          const values = [0, 1].map((i) => k.mul(sums.get(place + i), share));
          k.stVector("f32", own, values, (r * pitch * tileRows) / 2 + column);
        }
      k.syncWarp();
      const loaded = rows.map((_, i) => k.ldVector("f32", from, i * rowsTogether * pitch));
      for (const [i, { exists, to }] of rows.entries()) k.if(exists, () => k.stVector("f32", to, elementAt(loaded, i), first));
      k.syncWarp();
    }
  }

  /** The rows that the lane stores parts of. */
  #rows(block: QueryBlock, lane: U32): readonly StoredRow[] {
    const { k } = this.#scope;
    const { heads, valueWidth } = this.#sizes;
    const first = k.mad(k.shiftRight(k.thread(), 5), tileRows, k.quotient(lane, columns / vector));
    return Array.from({ length: tileRows / rowsTogether }, (_, i) => {
      const { token, head, exists } = rowPlace(this.#scope, this.#sizes, block, k.add(first, i * rowsTogether));
      const start = k.mad(k.mad(token, heads, head), valueWidth, this.#column(lane));
      return { exists, to: k.at("f32", k.pointer("y", "f32"), start) };
    });
  }

  /** First column of the lane's vector among those that are stored together. */
  #column(lane: U32): U32 {
    const { k } = this.#scope;
    return k.mul(k.remainder(lane, columns / vector), vector);
  }
}
