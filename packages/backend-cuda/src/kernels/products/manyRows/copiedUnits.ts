import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { lanes } from "../../shared/product.ts";
import type { RingSizes, UnitSource } from "../ring.ts";

const pieceBytes = 16;

/** A warp's own ring of slots in shared memory, as `UnitRing`, filled by its lanes piece by piece: for devices without bulk copies. */
export class CopiedUnits {
  readonly #k: PtxEmitter;
  readonly #units: UnitSource;
  readonly #sizes: RingSizes;
  readonly #slots: Shared<"u32">;
  readonly #lane: U32;
  readonly #slot: Var<"u32">;

  /** Starts copies to all slots. */
  constructor(k: PtxEmitter, units: UnitSource, sizes: RingSizes) {
    const { depth, slotBytes, warp, warps } = sizes;
    this.#k = k;
    this.#units = units;
    this.#sizes = sizes;
    const slots = k.sharedMemory("u32", (warps * depth * slotBytes) / 4, 128);
    this.#slots = k.sharedAtBytes(slots, k.mul(warp, depth * slotBytes));
    this.#lane = k.and(k.thread(), lanes - 1);
    this.#slot = k.variable("u32", 0);
    k.for(0, depth, 1, (slot) => this.#fill(slot));
  }

  /** Waits for the next unit, reads it into registers and starts the copy of a later one to its slot. */
  take<T>(read: (unit: Shared<"u32">) => T): T {
    const k = this.#k;
    const { depth } = this.#sizes;
    const slot = this.#slot.get();
    k.waitCopies(depth - 1);
    k.syncWarp();
    const values = read(this.#slotAt(slot));
    k.syncWarp();
    this.#fill(slot);
    const next = k.add(slot, 1);
    this.#slot.set(k.select(k.compare("eq", next, depth), k.constant("u32", 0), next));
    return values;
  }

  #fill(slot: U32): void {
    const k = this.#k;
    const own = k.mul(this.#lane, pieceBytes);
    this.#units.next((unit, bytes) =>
      k.for(own, bytes, lanes * pieceBytes, (at) => k.copyPiece(k.sharedAtBytes(this.#slotAt(slot), at), k.atBytes(unit, at, 1))),
    );
    // A group for each turn, with a unit or without.
    k.commitCopies();
  }

  #slotAt(slot: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#slots, this.#k.mul(slot, this.#sizes.slotBytes));
  }
}
