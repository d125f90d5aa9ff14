import { elementAt } from "@centella/core/backend";
import type { Bool, U32 } from "@centella/gpu-kernels";
import type { Shared } from "../../ptx/types.ts";
import type { MatrixDescriptor } from "../../ptx/warpgroup.ts";
import type { Var } from "../../ptx/writer.ts";
import type { Scope } from "../shared/kernel.ts";
import { lanes } from "../shared/product.ts";
import { CacheRows } from "./pieces.ts";
import type { AttentionCall, AttentionParams, AttentionSizes } from "./problem.ts";
import { slotOf, storedSlot } from "./slots.ts";

export const warpgroupLanes = 128;

/** Warpgroups that multiply. */
export const consumers = 2;

/** Positions of a stage. */
const positions = 128;

/** Positions whose slots follow each other: one look-up is for all of them. */
export const blockPositions = 32;

/** Stages of keys, and of values. */
const depth = 2;

/** Bytes of a piece, and of a row of pieces that are swizzled. */
const pieceBytes = 16;
const rowBytes = 128;

/** Keys or values. */
export type Side = "keys" | "values";

/** A place in a ring of stages: the stage, and the parity of the phase in which it is used. */
interface Cursor {
  readonly stage: Var<"u32">;
  readonly parity: Var<"u32">;
}

interface Ring {
  readonly memory: Shared<"u32">;
  readonly width: number;
  /** Per stage: full when its copies have landed, free when all have read it. */
  readonly full: Shared<"u64">;
  readonly free: Shared<"u64">;
  readonly cursor: Cursor;
}

interface StageSource {
  /** Index of the sequence's first entry in the block table. */
  readonly tableRow: U32;
  readonly kvHead: U32;
  /** Stages are for `count` times 128 positions from `first` on. */
  readonly first: U32;
  readonly count: U32;
  /** End of the positions that are seen; later ones are zeros. */
  readonly high: U32;
}

/**
 * Keys and values in shared memory as warpgroup products read them: rows of 64 halves, swizzled. One warpgroup fills the stages, the others
 * read them. Keys and values have rings of their own, since keys are needed one stage earlier.
 */
export class SwizzledStages {
  static readonly positions: number = positions;
  readonly #scope: Scope;
  readonly #call: AttentionCall;
  readonly #params: AttentionParams;
  readonly #rows: CacheRows;
  readonly #source: StageSource;
  readonly #rings: Readonly<Record<Side, Ring>>;

  /** All threads must come here, and meet at a barrier before they use the stages. */
  constructor(
    scope: Scope,
    call: AttentionCall,
    { params, sizes }: { readonly params: AttentionParams; readonly sizes: AttentionSizes },
    source: StageSource,
  ) {
    const { k } = scope;
    this.#scope = scope;
    this.#call = call;
    this.#params = params;
    this.#source = source;
    this.#rows = new CacheRows(scope, "f16", sizes, source);
    this.#rings = { keys: this.#ring(sizes.keyWidth), values: this.#ring(sizes.valueWidth) };
    k.if(k.compare("eq", k.thread(), 0), () => {
      for (const { full, free } of Object.values(this.#rings)) {
        for (let stage = 0; stage < depth; stage++) {
          k.initBarrier(k.sharedAt("u64", full, stage), warpgroupLanes);
          k.initBarrier(k.sharedAt("u64", free, stage), (consumers * warpgroupLanes) / lanes);
        }
      }
      k.fenceBarriers();
    });
  }

  /** The first position, and the number of stages. */
  get range(): { readonly first: U32; readonly count: U32 } {
    return this.#source;
  }

  #ring(width: number): Ring {
    const { k } = this.#scope;
    return {
      memory: k.sharedMemory("u32", (depth * positions * width) / 2, 1024),
      width,
      full: k.sharedMemory("u64", depth),
      free: k.sharedMemory("u64", depth),
      cursor: { stage: k.variable("u32", 0), parity: k.variable("u32", 0) },
    };
  }

  /** Fills the stages: the first keys, then keys and the values before them in turn. For the threads of the warpgroup that copies. */
  copy(): void {
    const { k } = this.#scope;
    const { count } = this.#source;
    k.if(k.compare("gt", count, 0), () => {
      const pending = k.variable("u32", this.#fill("keys", k.constant("u32", 0)));
      /** Starts the copies of a stage, and announces the stage before it once that has landed. */
      const fill = (side: Side, tile: U32): void => {
        const next = this.#fill(side, tile);
        this.#announce(pending.get(), 1);
        pending.set(next);
      };
      k.for(1, count, 1, (tile) => {
        fill("keys", tile);
        fill("values", k.sub(tile, 1));
      });
      fill("values", k.sub(count, 1));
      this.#announce(pending.get(), 0);
    });
  }

  /** Starts the copies of a stage for tile `tile`. Returns the address of the barrier that announces it. */
  #fill(side: Side, tile: U32): U32 {
    const { k } = this.#scope;
    const { first, high } = this.#source;
    const ring = this.#rings[side];
    const stage = ring.cursor.stage.get();
    k.waitBarrier(k.sharedAt("u64", ring.free, stage), k.xor(ring.cursor.parity.get(), 1));
    // Neighbouring threads copy neighbouring pieces of a row; the rows of a thread have the same swizzle.
    const rowPieces = (2 * ring.width) / pieceBytes;
    const step = warpgroupLanes / rowPieces;
    const thread = k.and(k.thread(), warpgroupLanes - 1);
    const [row, piece] = [k.quotient(thread, rowPieces), k.remainder(thread, rowPieces)];
    const swizzled = k.xor(k.and(piece, 7), k.and(row, 7));
    const column = k.mad(k.shiftRight(piece, 3), positions * rowBytes, k.mul(swizzled, pieceBytes));
    const to = k.sharedAtBytes<"u32">(this.#stage(ring, stage), k.mad(row, rowBytes, column));
    const from = k.add(k.mul(piece, pieceBytes / 2), side === "keys" ? 0 : this.#rings.keys.width);
    const start = k.mad(tile, positions, first);
    for (let block = 0; block < positions / blockPositions; block++) {
      const position = k.add(start, block * blockPositions);
      const { isStored, slot } = this.#slotOf(position);
      const rows = k.select(isStored, k.sub(k.max(high, position), position), 0);
      for (let down = 0; down < blockPositions; down += step) {
        const below = k.add(row, down);
        const bytes = k.select(k.compare("lt", below, rows), k.constant("u32", pieceBytes), 0);
        k.copyPiece(k.sharedAtBytes(to, (block * blockPositions + down) * rowBytes), this.#rows.at(k.add(slot, row), from, down), bytes);
      }
    }
    k.commitCopies();
    this.#advance(ring);
    return k.sharedAt("u64", ring.full, stage) as string as U32;
  }

  /** Announces a stage once all but the last `pending` stages have landed. */
  #announce(full: U32, pending: number): void {
    const { k } = this.#scope;
    k.waitCopies(pending);
    k.fenceAsyncProxy();
    k.arriveBarrier(full as string as Shared<"u64">);
  }

  /** Waits for the next keys or values. For the threads that multiply. */
  wait(side: Side): void {
    const { k } = this.#scope;
    const { full, cursor } = this.#rings[side];
    k.waitBarrier(k.sharedAt("u64", full, cursor.stage.get()), cursor.parity.get());
  }

  /** The keys' elements from `16 * step` on, as a right matrix. */
  keys(step: number): MatrixDescriptor {
    const { k } = this.#scope;
    const ring = this.#rings.keys;
    const at = (step >> 2) * positions * rowBytes + (step & 3) * 32;
    return k.matrixDescriptor(k.sharedAtBytes(this.#stage(ring, ring.cursor.stage.get()), at));
  }

  /** The values of positions from `16 * step` on, as a right matrix whose depth the positions are. */
  values(step: number): MatrixDescriptor {
    const { k } = this.#scope;
    const ring = this.#rings.values;
    const address = k.sharedAtBytes(this.#stage(ring, ring.cursor.stage.get()), step * 16 * rowBytes);
    return k.matrixDescriptor(address, { leading: ring.width > rowBytes / 2 ? positions * rowBytes : 0 });
  }

  /** Which positions of the stage from `first` on are in the cache: all of them, and those of a lane's column. */
  stored(first: U32): { readonly all: Bool; column(column: number): Bool } {
    const { k } = this.#scope;
    const blocks = Array.from({ length: positions / blockPositions }, (_, i) => this.#slotOf(k.add(first, i * blockPositions)).isStored);
    return {
      all: blocks.reduce((a, b) => k.both(a, b)),
      column: (column) => elementAt(blocks, Math.floor((8 * (column >> 1)) / blockPositions)),
    };
  }

  /** The slot of a block's first position; for blocks that are not seen, that of the last position that is. */
  #slotOf(position: U32): ReturnType<typeof storedSlot> {
    const { k } = this.#scope;
    const { tableRow, high } = this.#source;
    const slot = slotOf(this.#scope, this.#params.blockSize, tableRow, k.min(position, k.sub(high, 1)));
    return storedSlot(this.#scope, slot, this.#scope.extent(elementAt(this.#call.inputs[1].shape, 0)));
  }

  /** Frees the stage of the present keys or values, and goes on to the next one. All lanes of the warp must come here. */
  release(side: Side): void {
    const { k } = this.#scope;
    const ring = this.#rings[side];
    k.syncWarp();
    k.if(k.compare("eq", k.and(k.thread(), lanes - 1), 0), () => k.arriveBarrier(k.sharedAt("u64", ring.free, ring.cursor.stage.get())));
    this.#advance(ring);
  }

  #advance({ cursor }: Ring): void {
    const { k } = this.#scope;
    const next = k.add(cursor.stage.get(), 1);
    const isOver = k.compare("eq", next, depth);
    cursor.stage.set(k.select(isOver, k.constant("u32", 0), next));
    cursor.parity.set(k.select(isOver, k.xor(cursor.parity.get(), 1), cursor.parity.get()));
  }

  #stage(ring: Ring, stage: U32): Shared<"u32"> {
    const { k } = this.#scope;
    return k.sharedAtBytes(ring.memory, k.mul(stage, positions * 2 * ring.width));
  }
}
