import type { Bool, F32, U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Global, Shared } from "../../../ptx/types.ts";
import type { WarpgroupSums } from "../../../ptx/warpgroup.ts";
import { warpgroupLanes, warpgroupRows } from "../../shared/gpu.ts";
import { isShared } from "./chooseSplit.ts";
import { type MixedSizes, warpgroupTiles } from "./sizes.ts";
import type { TilePart, TileSplit } from "./tileSplit.ts";

/** Bytes of the sums of parts of tiles: at most a tile's last part and another one's first part of each block. */
export function partialBytes(sizes: MixedSizes): number {
  const { copies, blocks, warpgroups, perTile } = sizes;
  return isShared(sizes, copies) ? 2 * blocks * warpgroups * warpgroupRows * perTile * 4 : 0;
}

/** Sums of tiles that several blocks share. Each warpgroup's last one to end adds up the parts, in the order of the depth. */
export class PartialSums {
  readonly #k: PtxEmitter;
  readonly #sizes: MixedSizes;
  readonly #split: TileSplit;
  readonly #counters: Global<"u32">;
  /** A word for each warp: whether its warpgroup was the last one. */
  readonly #found: Shared<"u32">;

  constructor(k: PtxEmitter, sizes: MixedSizes, split: TileSplit) {
    this.#k = k;
    this.#sizes = sizes;
    this.#split = split;
    this.#counters = k.counters(sizes.tiles * sizes.warpgroups);
    this.#found = k.sharedMemory("u32", sizes.warpgroups * warpgroupTiles);
  }

  /**
   * Stores the sums of a part of a tile. Where the other parts were stored before, replaces them by those of the tile, and returns true. All
   * threads of the warpgroup must take part.
   */
  merge(sums: WarpgroupSums, { tile, unit }: TilePart, number: U32): Bool {
    const k = this.#k;
    // Those of a tile's first part follow those of the part before.
    const own = k.mad(k.block(), 2, k.select(k.compare("eq", unit, 0), k.constant("u32", 1), 0));
    const to = this.#slot(own, number);
    forEachVector(sums, (vector, places) =>
      k.stVector(
        "f32",
        to,
        places.map((i) => sums.get(i)),
        vector * 4 * warpgroupLanes,
      ),
    );
    this.#sync(number);
    const { first, last } = this.#split.blocksOf(tile);
    const isLast = this.#isLast(k.mad(tile, this.#sizes.warpgroups, number), number, k.add(k.sub(last, first), 1));
    k.if(isLast, () => {
      const from = this.#slot(k.mad(first, 2, k.constant("u32", 1)), number);
      forEachVector(sums, (vector, places) => {
        const values = k.ldVector("f32", from, vector * 4 * warpgroupLanes);
        for (const [i, place] of places.entries()) sums.set(place, values[i] as F32);
      });
      k.for(k.add(first, 1), k.add(last, 1), 1, (block) => {
        const part = this.#slot(k.mul(block, 2), number);
        forEachVector(sums, (vector, places) => {
          const values = k.ldVector("f32", part, vector * 4 * warpgroupLanes);
          for (const [i, place] of places.entries()) sums.set(place, k.add(sums.get(place), values[i] as F32));
        });
      });
    });
    return isLast;
  }

  /** The thread's numbers of a part: vectors of four, those of the warpgroup's threads side by side. */
  #slot(slot: U32, number: U32): Global<"f32"> {
    const k = this.#k;
    const { warpgroups, perTile } = this.#sizes;
    const from = k.atBytes(k.pointer("partials", "f32"), k.mad(slot, warpgroups, number), warpgroupRows * perTile * 4);
    return k.at("f32", from, k.shiftLeft(k.and(k.thread(), warpgroupLanes - 1), 2));
  }

  /** Whether the warpgroup is the last of `count` to come here. The counter starts again at 0. */
  #isLast(place: U32, number: U32, count: U32): Bool {
    const k = this.#k;
    const found = k.sharedAt("u32", this.#found, k.mul(number, warpgroupTiles));
    k.if(k.compare("eq", k.and(k.thread(), warpgroupLanes - 1), 0), () => {
      const counter = k.at("u32", this.#counters, place);
      const isLast = k.compare("eq", k.add(k.countUp(counter), 1), count);
      const word = k.select(isLast, k.constant("u32", 1), 0);
      k.stVector("u32", found, [word, word, word, word]);
      k.if(isLast, () => k.st("u32", counter, k.constant("u32", 0)));
    });
    this.#sync(number);
    const warp = k.and(k.shiftRight(k.thread(), 5), warpgroupTiles - 1);
    return k.compare("ne", k.ld("u32", k.sharedAt("u32", found, warp)), 0);
  }

  #sync(number: U32): void {
    this.#k.syncSome(this.#k.add(number, 1), warpgroupLanes);
  }
}

function forEachVector(sums: WarpgroupSums, body: (vector: number, places: readonly number[]) => void): void {
  for (let vector = 0; vector < sums.registers.length / 4; vector++)
    body(
      vector,
      [0, 1, 2, 3].map((i) => 4 * vector + i),
    );
}
