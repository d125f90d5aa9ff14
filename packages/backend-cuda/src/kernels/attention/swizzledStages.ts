import type { Bool, U32 } from "@centella/gpu-kernels";
import type { TensorMapAddress } from "../../ptx/async.ts";
import type { Shared } from "../../ptx/types.ts";
import type { MatrixDescriptor } from "../../ptx/warpgroup.ts";
import type { Var } from "../../ptx/writer.ts";
import { lanes, warpgroupWarps } from "../shared/gpu.ts";
import { fixed, type Scope } from "../shared/kernel.ts";
import { type AttentionCall, type AttentionParams, type AttentionSizes, attentionInputs } from "./problem.ts";
import type { QueryBlock } from "./queryBlock.ts";
import type { TileRange } from "./queryStages.ts";
import { stagePositions as positions, type WarpgroupShape } from "./warpgroupShape.ts";

/** Bytes of a row of pieces that are swizzled, and the halves in it. */
const rowBytes = 128;
const rowHalves = 64;

/** Rows of pieces that the widest head has. */
const maxChunks = 2;

/** Names of the tensor maps over the cache: boxes of several positions, and of one. */
export const boxMaps = { many: "cacheBoxes", one: "cacheRows" } as const;

/** Keys or values. */
type Side = "keys" | "values";

/** A ring of stages, and the place in it: the stage, and the parity of the phase in which it is used. */
interface Ring {
  readonly memory: Shared<"u32">;
  readonly width: number;
  /** Per stage: full when its boxes have landed, free when all have read it. */
  readonly full: Shared<"u64">;
  readonly free: Shared<"u64">;
  readonly stage: Var<"u32">;
  readonly parity: Var<"u32">;
}

/** The positions of a lane's box. */
interface Box {
  /** Row of the cache; one past the last where the positions are not read. */
  readonly row: U32;
  readonly position: U32;
  /** Whether the sequence ends within the box. */
  readonly isLast: Bool;
  /** Whether the positions are seen, but not in the cache. */
  readonly isLost: Bool;
}

/**
 * Keys and values in shared memory as warpgroup products read them: rows of 64 halves, swizzled. One warp fills the stages with boxes of the cache,
 * the others read them. Keys and values have rings of their own, since keys are needed one stage earlier.
 */
export class SwizzledStages {
  readonly #scope: Scope;
  readonly #call: AttentionCall;
  readonly #params: AttentionParams;
  readonly #sizes: AttentionSizes;
  readonly #shape: WarpgroupShape;
  readonly #rings: Readonly<Record<Side, Ring>>;
  /** Per stage of keys a bit for each box: whether its positions are seen, but not in the cache. */
  readonly #lost: Shared<"u32">;
  /** Whether the lane is the first one of its warp. */
  readonly #isFirst: Bool;

  constructor(
    scope: Scope,
    call: AttentionCall,
    { params, sizes, shape }: { readonly params: AttentionParams; readonly sizes: AttentionSizes; readonly shape: WarpgroupShape },
  ) {
    this.#scope = scope;
    this.#call = call;
    this.#params = params;
    this.#sizes = sizes;
    this.#shape = shape;
    this.#rings = { keys: this.#ring(sizes.keyWidth), values: this.#ring(sizes.valueWidth) };
    const { k } = scope;
    this.#lost = k.sharedMemory("u32", shape.depth);
    this.#isFirst = k.compare("eq", k.and(k.thread(), lanes - 1), 0);
  }

  /** Boxes of a stage, one above the other. */
  get #boxes(): number {
    return positions / this.#shape.boxRows;
  }

  #ring(width: number): Ring {
    const { k } = this.#scope;
    const { depth } = this.#shape;
    return {
      memory: k.sharedMemory("u32", (depth * positions * width) / 2, 1024),
      width,
      full: k.sharedMemory("u64", depth),
      free: k.sharedMemory("u64", depth),
      stage: k.variable("u32", 0),
      parity: k.variable("u32", 0),
    };
  }

  /** For one thread. */
  initBarriers(): void {
    const { k } = this.#scope;
    for (const map of Object.values(boxMaps)) k.prefetchTensorMap(k.tensorMap(map));
    const { depth, consumers } = this.#shape;
    for (const { full, free } of Object.values(this.#rings)) {
      for (let stage = 0; stage < depth; stage++) {
        k.initBarrier(k.sharedAt("u64", full, stage), 1);
        k.initBarrier(k.sharedAt("u64", free, stage), consumers * warpgroupWarps);
      }
    }
  }

  /** Starts to bring the first keys and values of a tile to the L2 cache. For the lanes of a warp. */
  prefetchFirst(block: QueryBlock, range: TileRange): void {
    const { k } = this.#scope;
    const { box, chunk } = this.#place;
    const { row } = this.#boxAt(block, range, range.first);
    for (const side of ["keys", "values"] as const)
      k.if(this.#takes(side, box, chunk), () => k.prefetchBox(k.tensorMap(boxMaps.many), this.#column(side, block.kvHead, chunk), row));
  }

  /** Fills the stages of a tile: the first keys, then keys and the values before them in turn. For the lanes of a warp. */
  copy(block: QueryBlock, range: TileRange): void {
    const { k } = this.#scope;
    const [row, position, isLast] = [k.variable("u32", 0), k.variable("u32", 0), k.variable("u32", 0)];
    const none = k.compare("ne", row.get(), row.get());
    const present = (): Box => ({ row: row.get(), position: position.get(), isLast: k.compare("ne", isLast.get(), 0), isLost: none });
    k.for(0, range.count, 1, (index) => {
      const before = present();
      const box = this.#boxAt(block, range, k.mad(index, positions, range.first));
      this.#fill("keys", block, range, box);
      k.if(k.compare("gt", index, 0), () => this.#fill("values", block, range, before));
      row.set(box.row);
      position.set(box.position);
      isLast.set(k.select(box.isLast, k.constant("u32", 1), 0));
    });
    this.#fill("values", block, range, present());
  }

  /** The lane's part of a stage: a box, and a column of boxes. */
  get #place(): { readonly box: U32; readonly chunk: U32 } {
    const { k } = this.#scope;
    const lane = k.and(k.thread(), lanes - 1);
    return { box: k.quotient(lane, maxChunks), chunk: k.remainder(lane, maxChunks) };
  }

  /** Whether a lane has a box. */
  #takes(side: Side, box: U32, chunk: U32): Bool {
    const { k } = this.#scope;
    return k.both(k.compare("lt", box, this.#boxes), k.compare("lt", chunk, this.#rings[side].width / rowHalves));
  }

  /** First column of the cache in a column of boxes. */
  #column(side: Side, kvHead: U32, chunk: U32): U32 {
    const { k } = this.#scope;
    const { keyWidth, valueWidth } = this.#sizes;
    return k.mad(chunk, rowHalves, k.mad(kvHead, keyWidth + valueWidth, k.constant("u32", side === "keys" ? 0 : keyWidth)));
  }

  /** The lane's box in the stage from `first` on. */
  #boxAt({ tableRow }: QueryBlock, { high, length }: TileRange, first: U32): Box {
    const { k } = this.#scope;
    const { boxRows } = this.#shape;
    const { blockSize } = this.#params;
    const slots = fixed(attentionInputs(this.#call).cache.shape[0]);
    const { box } = this.#place;
    const position = k.mad(box, boxRows, first);
    const isSeen = k.both(k.compare("lt", box, this.#boxes), k.compare("lt", position, high));
    const row = k.variable("u32", slots);
    k.if(isSeen, () => {
      const block = k.bitcast("u32", k.loadInteger("blockTable", k.add(tableRow, k.quotient(position, blockSize))));
      const isStored = k.compare("lt", block, slots / blockSize);
      row.set(k.select(isStored, k.mad(block, blockSize, k.remainder(position, blockSize)), slots));
    });
    const found = row.get();
    const isLost = k.both(isSeen, k.compare("eq", found, slots));
    const isLast = k.both(isSeen, k.compare("gt", k.add(position, boxRows), length));
    return { row: found, position, isLast, isLost };
  }

  /** Starts the copies of a stage. */
  #fill(side: Side, { kvHead }: QueryBlock, { length }: TileRange, { row, position, isLast, isLost }: Box): void {
    const { k } = this.#scope;
    const ring = this.#rings[side];
    const { boxRows } = this.#shape;
    const { box, chunk } = this.#place;
    const stage = ring.stage.get();
    const full = k.sharedAt("u64", ring.full, stage);
    k.waitBarrier(k.sharedAt("u64", ring.free, stage), k.xor(ring.parity.get(), 1));
    if (side === "keys") {
      const lost = k.reduceLanes("or", k.select(isLost, k.shiftLeft(k.constant("u32", 1), box), 0));
      k.if(this.#isFirst, () => k.st("u32", k.sharedAt("u32", this.#lost, stage), lost));
    }
    // The first lane's arrival says that all lanes have read the tile's range.
    k.syncWarp();
    k.if(this.#isFirst, () => k.expectBytes(full, positions * 2 * ring.width));
    const column = this.#column(side, kvHead, chunk);
    const below = k.mad(box, boxRows * rowBytes, k.mul(chunk, positions * rowBytes));
    const to = k.sharedAtBytes<"u32">(this.#stage(ring, stage), below);
    const copy = (map: TensorMapAddress, down: U32 | number, from: U32): void =>
      k.copyBox(k.sharedAtBytes(to, typeof down === "number" ? down * rowBytes : k.mul(down, rowBytes)), map, column, from, full);
    const copyAll = (): void => copy(k.tensorMap(boxMaps.many), 0, row);
    k.if(this.#takes(side, box, chunk), () =>
      side === "keys" ? copyAll() : k.if(isLast, () => this.#copyRows(position, row, length, copy), copyAll),
    );
    this.#advance(ring);
  }

  /**
   * Copies the rows of the box in which the sequence ends one by one, and zeros after them. What other sequences have left there has no weight,
   * but 0 times infinity is NaN.
   */
  #copyRows(position: U32, row: U32, length: U32, copy: (map: TensorMapAddress, down: U32, from: U32) => void): void {
    const { k } = this.#scope;
    const map = k.tensorMap(boxMaps.one);
    const slots = fixed(attentionInputs(this.#call).cache.shape[0]);
    k.for(0, this.#shape.boxRows, 1, (down) => {
      copy(map, down, k.select(k.compare("lt", k.add(position, down), length), k.min(k.add(row, down), slots), slots));
    });
  }

  /** Waits for the next keys or values. For the threads that multiply. */
  wait(side: Side): void {
    const { k } = this.#scope;
    const { full, stage, parity } = this.#rings[side];
    k.waitBarrier(k.sharedAt("u64", full, stage.get()), parity.get());
  }

  /** The keys' elements from `16 * step` on, as a right matrix. */
  keys(step: number): MatrixDescriptor {
    const { k } = this.#scope;
    const ring = this.#rings.keys;
    const offset = (step >> 2) * positions * rowBytes + (step & 3) * 32;
    return k.matrixDescriptor(this.#stage(ring, ring.stage.get()), { offset });
  }

  /** The values of positions from `16 * step` on, as a right matrix whose depth the positions are. */
  values(step: number): MatrixDescriptor {
    const { k } = this.#scope;
    const ring = this.#rings.values;
    const leading = ring.width > rowHalves ? positions * rowBytes : 0;
    return k.matrixDescriptor(this.#stage(ring, ring.stage.get()), { leading, offset: step * 16 * rowBytes });
  }

  /** A bit for each box of the present keys: whether its positions are seen, but not in the cache. */
  lost(): U32 {
    const { k } = this.#scope;
    return k.ld("u32", k.sharedAt("u32", this.#lost, this.#rings.keys.stage.get()));
  }

  /** Whether a lane's column of keys is in the cache, given their {@link lost} boxes. */
  isStored(lost: U32, column: number): Bool {
    const { k } = this.#scope;
    const box = Math.floor((8 * (column >> 1)) / this.#shape.boxRows);
    return k.compare("eq", k.and(lost, 1 << box), 0);
  }

  /** Frees the stage of the present keys or values, and goes on to the next one. All lanes of the warp must come here. */
  release(side: Side): void {
    const { k } = this.#scope;
    const ring = this.#rings[side];
    k.syncWarp();
    k.if(this.#isFirst, () => k.arriveBarrier(k.sharedAt("u64", ring.free, ring.stage.get())));
    this.#advance(ring);
  }

  #advance({ stage, parity }: Ring): void {
    const { k } = this.#scope;
    const next = k.add(stage.get(), 1);
    const isOver = k.compare("eq", next, this.#shape.depth);
    stage.set(k.select(isOver, k.constant("u32", 0), next));
    parity.set(k.select(isOver, k.xor(parity.get(), 1), parity.get()));
  }

  #stage(ring: Ring, stage: U32): Shared<"u32"> {
    const { k } = this.#scope;
    return k.sharedAtBytes(ring.memory, k.mul(stage, positions * 2 * ring.width));
  }
}
