import type { TypedArray } from "../dtype.ts";
import type { HostResults } from "./pendingOutputs.ts";

/** Host-readable memory with the results of a run, by index. */
export interface ResultMemory {
  readonly bytes: number;
  /** Number of results. */
  readonly count: number;
  /** Whether the memory ended with its device. */
  readonly isLost: boolean;
  /** A result as a new array. */
  copy(index: number): TypedArray;
  copyTo(index: number, target: TypedArray): void;
  /** Gives the memory back. Called once. */
  release(): void;
}

/**
 * Keeps results in the memory that they arrived in until they are freed, so that a reader makes the only copy. When that memory exceeds
 * `maxBytes`, the oldest results are copied to arrays.
 */
export class ResultHolder {
  readonly #maxBytes: number;
  readonly #failure: () => Error;
  /** The oldest first. */
  readonly #held = new Set<HeldResults>();

  /** @param failure the error of reading results whose memory ended with the device */
  constructor(maxBytes: number, failure: () => Error) {
    this.#maxBytes = maxBytes;
    this.#failure = failure;
  }

  hold(memory: ResultMemory): HostResults {
    this.makeRoom(memory.bytes);
    const results = new HeldResults(memory, this.#failure, () => this.#held.delete(results));
    this.#held.add(results);
    return results;
  }

  /** Copies the oldest results to arrays until `bytes` more can be held. */
  makeRoom(bytes: number): void {
    let total = bytes;
    for (const { memory } of this.#held) total += memory.bytes;
    for (const oldest of this.#held) {
      if (total <= this.#maxBytes) break;
      total -= oldest.memory.bytes;
      oldest.settle();
    }
  }

  /** Copies all results to arrays, before the device ends and its memory with it. */
  settle(): void {
    for (const results of this.#held) results.settle();
  }
}

/** Results in memory that is given back once all of them are freed or copied to arrays. */
class HeldResults implements HostResults {
  readonly memory: ResultMemory;
  readonly #failure: () => Error;
  readonly #onRelease: () => void;
  /** Indices of the results that only `memory` has. */
  readonly #inMemory: Set<number>;
  /** Results that were copied, by index. */
  readonly #arrays = new Map<number, TypedArray>();

  constructor(memory: ResultMemory, failure: () => Error, onRelease: () => void) {
    this.memory = memory;
    this.#failure = failure;
    this.#onRelease = onRelease;
    this.#inMemory = new Set(Array.from({ length: memory.count }, (_, index) => index));
  }

  read(index: number): TypedArray {
    return this.#inMemory.has(index) ? this.#present().copy(index) : this.#array(index).slice();
  }

  readInto(index: number, target: TypedArray): void {
    if (this.#inMemory.has(index)) this.#present().copyTo(index, target);
    else target.set(this.#array(index));
  }

  peek(index: number): TypedArray {
    this.settle();
    return this.#array(index);
  }

  free(index: number): void {
    this.#arrays.delete(index);
    if (this.#inMemory.delete(index) && this.#inMemory.size === 0) this.#release();
  }

  /** Copies the results to arrays, and gives the memory back. */
  settle(): void {
    if (this.#inMemory.size === 0) return;
    if (!this.memory.isLost) for (const index of this.#inMemory) this.#arrays.set(index, this.memory.copy(index));
    this.#inMemory.clear();
    this.#release();
  }

  #release(): void {
    this.#onRelease();
    this.memory.release();
  }

  #array(index: number): TypedArray {
    const array = this.#arrays.get(index);
    if (array === undefined) throw this.#failure();
    return array;
  }

  /** @throws the device's failure if the memory ended with the device */
  #present(): ResultMemory {
    if (this.memory.isLost) throw this.#failure();
    return this.memory;
  }
}
