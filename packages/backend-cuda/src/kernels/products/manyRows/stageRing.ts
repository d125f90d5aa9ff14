import type { Bool, U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Elem, Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";

interface StageSizes {
  readonly stages: number;
  readonly bytes: number;
  /** Warpgroups that use each stage. */
  readonly users: number;
}

/** Where a thread is in the ring. */
export interface RingPlace {
  readonly stage: Var<"u32">;
  readonly parity: Var<"u32">;
}

/** Starts a copy to a stage. */
export type StartCopy = (to: Shared<Elem>, from: Parameters<PtxEmitter["copyBulk"]>[1], bytes: number) => void;

/** Stages in shared memory that a thread or a warp fills and warpgroups use. */
export class StageRing {
  readonly #k: PtxEmitter;
  readonly #sizes: StageSizes;
  readonly #memory: Shared<"u32">;
  readonly #full: Shared<"u64">;
  readonly #empty: Shared<"u64">;

  constructor(k: PtxEmitter, sizes: StageSizes) {
    const { stages, bytes } = sizes;
    this.#k = k;
    this.#sizes = sizes;
    this.#memory = k.sharedMemory("u32", (stages * bytes) / 4, 1024);
    this.#full = k.sharedMemory("u64", stages);
    this.#empty = k.sharedMemory("u64", stages);
  }

  /** Initialises the barriers, in one thread. A fence must follow. */
  init(): void {
    const { stages, users } = this.#sizes;
    for (let stage = 0; stage < stages; stage++) {
      this.#k.initBarrier(this.#k.sharedAt("u64", this.#full, stage), 1);
      this.#k.initBarrier(this.#k.sharedAt("u64", this.#empty, stage), users);
    }
  }

  /** The beginning of the ring, for a thread that goes around it. */
  place(): RingPlace {
    return { stage: this.#k.variable("u32", 0), parity: this.#k.variable("u32", 0) };
  }

  /** Waits for a free stage and starts the copies of `copies` to it, in one thread; in a warp if `isFirst` says which of its lanes is the first. */
  fill(place: RingPlace, copies: (stage: Shared<"u32">, copy: StartCopy) => void, isFirst?: Bool): void {
    const k = this.#k;
    const number = place.stage.get();
    k.waitBarrier(k.sharedAt("u64", this.#empty, number), k.xor(place.parity.get(), 1));
    const barrier = k.sharedAt("u64", this.#full, number);
    if (isFirst === undefined) k.expectBytes(barrier, this.#sizes.bytes);
    else {
      k.if(isFirst, () => k.expectBytes(barrier, this.#sizes.bytes));
      k.syncWarp();
    }
    copies(this.#at(number), (to, from, bytes) => k.copyBulk(to, from, bytes, barrier));
    this.#advance(place);
  }

  /** Waits for the next stage. */
  wait(place: RingPlace): { readonly stage: Shared<"u32">; readonly number: U32 } {
    const k = this.#k;
    const number = place.stage.get();
    k.waitBarrier(k.sharedAt("u64", this.#full, number), place.parity.get());
    this.#advance(place);
    return { stage: this.#at(number), number };
  }

  /** Hands a stage back, in one thread of each warpgroup that used it. */
  release(number: U32): void {
    this.#k.arriveBarrier(this.#k.sharedAt("u64", this.#empty, number));
  }

  #at(number: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#memory, this.#k.mul(number, this.#sizes.bytes));
  }

  #advance({ stage, parity }: RingPlace): void {
    const k = this.#k;
    const next = k.add(stage.get(), 1);
    const isOver = k.compare("eq", next, this.#sizes.stages);
    parity.set(k.select(isOver, k.xor(parity.get(), 1), parity.get()));
    stage.set(k.select(isOver, k.constant("u32", 0), next));
  }
}
