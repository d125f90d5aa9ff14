import { isBelow, type U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../ptx/emitter.ts";
import type { Global, Shared } from "../../ptx/types.ts";
import type { Var } from "../../ptx/writer.ts";
import { lanes } from "../shared/product.ts";

/** The units that a warp takes, one after the other. */
export interface UnitSource {
  /** Runs `use` with the next unit, if there is one, and goes on. */
  next(use: (unit: Global<"u32">, bytes: U32 | number) => void): void;
}

export interface RingSizes {
  readonly depth: number;
  readonly early?: number;
  readonly slotBytes: number;
  readonly warp: U32;
  readonly warps: number;
}

/** A warp's own ring of slots in shared memory, which copies of its units fill ahead of their use. */
export class UnitRing {
  readonly #k: PtxEmitter;
  readonly #cursor: UnitSource;
  readonly #depth: number;
  readonly #early: number;
  readonly #slotBytes: number;
  readonly #slots: Shared<"u32">;
  readonly #barriers: Shared<"u64">;
  readonly #isFirstLane;
  readonly #slot: Var<"u32">;
  readonly #parity: Var<"u32">;

  /**
   * Starts copies to the first `early` slots, by default to all; {@link fill} starts those to the others. `warps` warps have a ring of `depth`
   * slots each.
   */
  constructor(k: PtxEmitter, cursor: UnitSource, { depth, early = depth, slotBytes, warp, warps }: RingSizes) {
    this.#k = k;
    this.#cursor = cursor;
    this.#depth = depth;
    this.#early = Math.min(early, depth);
    this.#slotBytes = slotBytes;
    const slots = k.sharedMemory("u32", (warps * depth * slotBytes) / 4, 128);
    const barriers = k.sharedMemory("u64", warps * depth);
    this.#slots = k.sharedAtBytes(slots, k.mul(warp, depth * slotBytes));
    this.#barriers = k.sharedAt("u64", barriers, k.mul(warp, depth));
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

  /** Starts copies to the other slots. */
  fill(): void {
    if (this.#early < this.#depth) this.#k.for(this.#early, this.#depth, 1, (slot) => this.#fill(slot));
  }

  /** Waits for the next unit, reads it into registers and starts the copy of a later one to its slot. */
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
        k.copyBulk(this.#slotAt(slot), unit, bytes, barrier);
      }),
    );
  }

  #slotAt(slot: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#slots, this.#k.mul(slot, this.#slotBytes));
  }
}
