import type { U32 } from "@centella/gpu-kernels";
import type { PtxEmitter } from "../../../ptx/emitter.ts";
import type { Elem, Shared } from "../../../ptx/types.ts";
import type { Var } from "../../../ptx/writer.ts";
import { panelRowBytes, tileRows, tileWidth } from "./panels.ts";

/** Rows of both operands of a tile, in one panel. */
const stageBytes = (tileRows + tileWidth) * panelRowBytes;
const stages = 6;

/** Where a thread is in the ring. */
export interface RingPlace {
  readonly stage: Var<"u32">;
  readonly parity: Var<"u32">;
}

/** Starts a copy to a stage. */
type StartCopy = (to: Shared<Elem>, from: Parameters<PtxEmitter["copyBulk"]>[1], bytes: number) => void;

/** Stages in shared memory that one thread fills and one warpgroup uses. */
export class StageRing {
  readonly #k: PtxEmitter;
  readonly #memory: Shared<"u32">;
  readonly #full: Shared<"u64">;
  readonly #empty: Shared<"u64">;

  constructor(k: PtxEmitter) {
    this.#k = k;
    this.#memory = k.sharedMemory("u32", (stages * stageBytes) / 4, 1024);
    this.#full = k.sharedMemory("u64", stages);
    this.#empty = k.sharedMemory("u64", stages);
  }

  /** Initialises the barriers, in one thread. A fence must follow. */
  init(): void {
    for (const barriers of [this.#full, this.#empty])
      for (let stage = 0; stage < stages; stage++) this.#k.initBarrier(this.#k.sharedAt("u64", barriers, stage), 1);
  }

  /** The beginning of the ring, for a thread that goes around it. */
  place(): RingPlace {
    return { stage: this.#k.variable("u32", 0), parity: this.#k.variable("u32", 0) };
  }

  /** Waits for a free stage and starts the copies of `copies` to it. */
  fill(place: RingPlace, copies: (stage: Shared<"u32">, copy: StartCopy) => void): void {
    const k = this.#k;
    const number = place.stage.get();
    k.waitBarrier(k.sharedAt("u64", this.#empty, number), k.xor(place.parity.get(), 1));
    const barrier = k.sharedAt("u64", this.#full, number);
    k.expectBytes(barrier, stageBytes);
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

  /** Goes `count` stages on. */
  skip({ stage, parity }: RingPlace, count: number): void {
    const k = this.#k;
    const next = k.add(stage.get(), count % stages);
    const isOver = k.compare("ge", next, stages);
    const turns = Math.floor(count / stages) & 1;
    parity.set(k.xor(parity.get(), k.select(isOver, k.constant("u32", 1 - turns), turns)));
    stage.set(k.select(isOver, k.sub(next, stages), next));
  }

  /** Hands a stage back, in one thread of the warpgroup that used it. */
  release(number: U32): void {
    this.#k.arriveBarrier(this.#k.sharedAt("u64", this.#empty, number));
  }

  #at(number: U32): Shared<"u32"> {
    return this.#k.sharedAtBytes(this.#memory, this.#k.mul(number, stageBytes));
  }

  #advance({ stage, parity }: RingPlace): void {
    const k = this.#k;
    const next = k.add(stage.get(), 1);
    const isOver = k.compare("eq", next, stages);
    parity.set(k.select(isOver, k.xor(parity.get(), 1), parity.get()));
    stage.set(k.select(isOver, k.constant("u32", 0), next));
  }
}
