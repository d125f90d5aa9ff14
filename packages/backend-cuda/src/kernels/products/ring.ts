import { isBelow, type U32 } from "@centella/gpu-kernels";
import type { CachePolicy } from "../../ptx/async.ts";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Global, Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { type Gpu, hasBulkCopies, lanes } from "../shared/gpu.ts";

const pieceBytes = 16;
/** Bytes that all lanes copy at a time. */
const lanesBytes: number = pieceBytes * lanes;

/** The units that a warp takes, one after the other. */
export interface UnitSource {
  /** Runs `use` with the next unit, if there is one, and goes on. */
  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void;
}

export interface RingSizes {
  /** Slots of each warp. */
  readonly depth: number;
  /** Slots that are filled at once. Default: all. */
  readonly early?: number;
  readonly slotBytes: number;
  readonly warp: U32;
  readonly warps: number;
  /** Whether no other block copies these units. */
  readonly areReadOnce?: boolean;
}

/** A warp's own ring of slots in shared memory, which copies of its units fill ahead of their use. */
export interface Ring {
  /** Starts copies to the slots that are not filled early. Comes once, before the first unit is taken. */
  fill(): void;
  /** Waits for the next unit, reads it into registers and starts the copy of a later one to its slot. */
  take<T>(read: (unit: Shared<"u32">) => T): T;
}

/** The ring that a device fills fastest. */
export function ringOf(k: PtxEmitter, gpu: Gpu, units: UnitSource, sizes: RingSizes): Ring {
  return hasBulkCopies(gpu) ? new UnitRing(k, units, sizes) : new PieceRing(k, units, sizes);
}

/** A ring that one lane fills by bulk copies. */
export class UnitRing implements Ring {
  readonly #k: PtxEmitter;
  readonly #cursor: UnitSource;
  readonly #depth: number;
  readonly #early: number;
  readonly #slotBytes: number;
  readonly #slots: Shared<"u32">;
  readonly #barriers: Shared<"u64">;
  readonly #policy: CachePolicy | undefined;
  readonly #isFirstLane;
  readonly #slot: Var<"u32">;
  readonly #parity: Var<"u32">;

  constructor(k: PtxEmitter, cursor: UnitSource, { depth, early = depth, slotBytes, warp, warps, areReadOnce = false }: RingSizes) {
    this.#k = k;
    this.#cursor = cursor;
    this.#depth = depth;
    this.#early = Math.min(early, depth);
    this.#slotBytes = slotBytes;
    const slots = k.sharedMemory("u32", (warps * depth * slotBytes) / 4, 128);
    const barriers = k.sharedMemory("u64", warps * depth);
    this.#slots = k.sharedAtBytes(slots, k.mul(warp, depth * slotBytes));
    this.#barriers = k.sharedAt("u64", barriers, k.mul(warp, depth));
    this.#policy = areReadOnce ? k.evictFirst() : undefined;
    const lane = k.and(k.thread(), lanes - 1);
    this.#isFirstLane = k.compare("eq", lane, 0);
    this.#slot = k.variable("u32", 0);
    this.#parity = k.variable("u32", 0);
    k.if(isBelow(k, lane, depth), () => {
      k.initBarrier(k.sharedAt("u64", this.#barriers, lane), 1);
      k.fenceBarriers();
    });
    k.syncWarp();
    k.for(0, this.#early, 1, (slot) => this.#fill(slot));
  }

  fill(): void {
    if (this.#early < this.#depth) this.#k.for(this.#early, this.#depth, 1, (slot) => this.#fill(slot));
  }

  take<T>(read: (unit: Shared<"u32">) => T): T {
    const { result, refill } = this.read(read);
    refill();
    return result;
  }

  /** Waits for the next unit and reads it into registers. `refill` starts the copy of a later one to its slot, before the next unit is read. */
  read<T>(read: (unit: Shared<"u32">) => T): { readonly result: T; refill(): void } {
    const k = this.#k;
    const slot = this.#slot.get();
    k.waitBarrier(k.sharedAt("u64", this.#barriers, slot), this.#parity.get());
    const { result, loads } = k.recordLoads(() => read(this.#slotAt(slot)));
    return { result, refill: () => this.#refill(slot, loads) };
  }

  #refill(slot: U32, loads: readonly string[]): void {
    const k = this.#k;
    k.syncWarp();
    this.#fill(slot, loads);
    this.#slot.set(k.add(slot, 1));
    k.if(k.compare("eq", this.#slot.get(), this.#depth), () => {
      this.#slot.set(0);
      this.#parity.set(k.xor(this.#parity.get(), 1));
    });
  }

  /** Starts the copy of the next unit to a slot, from which `loads` have read the unit before. */
  #fill(slot: U32, loads: readonly string[] = []): void {
    const k = this.#k;
    this.#cursor.next((unit, bytes) =>
      k.if(this.#isFirstLane, () => {
        const barrier = k.afterLoads(k.sharedAt("u64", this.#barriers, slot), loads, unit);
        k.expectBytes(barrier, bytes);
        k.copyBulk(this.#slotAt(slot), unit, bytes, barrier, this.#policy);
      }),
    );
  }

  #slotAt(slot: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#slots, this.#k.mul(slot, this.#slotBytes));
  }
}

/** A ring that all lanes of the warp fill piece by piece, for devices without bulk copies. */
class PieceRing implements Ring {
  readonly #k: PtxEmitter;
  readonly #units: UnitSource;
  readonly #depth: number;
  readonly #early: number;
  readonly #slotBytes: number;
  readonly #slots: Shared<"u32">;
  /** The lane's place in a piece of all lanes, in bytes. */
  readonly #own: U32;
  readonly #slot: Var<"u32">;

  constructor(k: PtxEmitter, units: UnitSource, { depth, early = depth, slotBytes, warp, warps }: RingSizes) {
    this.#k = k;
    this.#units = units;
    this.#depth = depth;
    this.#early = Math.min(early, depth);
    this.#slotBytes = slotBytes;
    const slots = k.sharedMemory("u32", (warps * depth * slotBytes) / 4, 128);
    this.#slots = k.sharedAtBytes(slots, k.mul(warp, depth * slotBytes));
    this.#own = k.mul(k.and(k.thread(), lanes - 1), pieceBytes);
    this.#slot = k.variable("u32", 0);
    k.for(0, this.#early, 1, (slot) => this.#fill(slot));
  }

  fill(): void {
    if (this.#early < this.#depth) this.#k.for(this.#early, this.#depth, 1, (slot) => this.#fill(slot));
  }

  take<T>(read: (unit: Shared<"u32">) => T): T {
    const k = this.#k;
    const slot = this.#slot.get();
    k.waitCopies(this.#depth - 1);
    // The copies of all lanes are over.
    k.syncWarp();
    const values = read(this.#slotAt(slot));
    // All lanes have read the slot.
    k.syncWarp();
    this.#fill(slot);
    const next = k.add(slot, 1);
    this.#slot.set(k.select(k.compare("eq", next, this.#depth), k.constant("u32", 0), next));
    return values;
  }

  #fill(slot: U32): void {
    this.#units.next((unit, bytes) => this.#copy(this.#slotAt(slot), unit, bytes));
    // A group for each turn, with a unit or without.
    this.#k.commitCopies();
  }

  /** Starts the lane's copies of a unit. */
  #copy(slot: Shared<"u32">, unit: Global<"u32">, bytes: U32 | number): void {
    const k = this.#k;
    if (typeof bytes !== "number") {
      k.for(this.#own, bytes, lanesBytes, (at) => k.copyPiece(k.sharedAtBytes(slot, at), k.atBytes(unit, at, 1)));
      return;
    }
    const [to, from] = [k.sharedAtBytes<"u32">(slot, this.#own), k.atBytes(unit, this.#own, 1)];
    const piece = (at: number): void => k.copyPiece(k.sharedAtBytes(to, at), k.at("u32", from, at / 4));
    const whole = bytes - (bytes % lanesBytes);
    for (let at = 0; at < whole; at += lanesBytes) piece(at);
    if (whole < bytes) k.if(k.compare("lt", this.#own, bytes - whole), () => piece(whole));
  }

  #slotAt(slot: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#slots, this.#k.mul(slot, this.#slotBytes));
  }
}
