import { BusyError } from "./errors.ts";

/** A sequence of the cache: the tokens whose keys and values it holds, in order, and who it serves. */
export interface Sequence {
  /** Its block in the cache. */
  readonly index: number;
  /** Ids of the cached tokens; position = index. */
  readonly ids: number[];
  owner: object | undefined;
  busy: boolean;
  lastUsed: number;
}

/**
 * The sequences of a model's key-value cache and who uses them. A user that comes back finds its tokens still cached,
 * unless another one needed the sequence meanwhile.
 */
export class SequencePool {
  readonly #sequences: readonly Sequence[];
  #clock = 0;

  constructor(count: number) {
    this.#sequences = Array.from({ length: count }, (_, index) => ({ index, ids: [], owner: undefined, busy: false, lastUsed: 0 }));
  }

  /**
   * The owner's sequence, else a free one, else the idle one that was used least recently. Give it back with {@link release}.
   * @throws {BusyError} if all are in use
   */
  acquire(owner: object): Sequence {
    const idle = this.#sequences.filter(({ busy }) => !busy);
    const rank = (sequence: Sequence): number => (sequence.owner === owner ? 0 : sequence.owner === undefined ? 1 : 2);
    const [sequence] = idle.toSorted((a, b) => rank(a) - rank(b) || a.lastUsed - b.lastUsed);
    if (sequence === undefined) {
      const count = this.#sequences.length;
      throw new BusyError(
        `model: expected an idle sequence, got ${count} of ${count} in use; wait for a generation to end, or load the model with more sequences`,
      );
    }
    if (sequence.owner !== owner) sequence.ids.length = 0;
    sequence.owner = owner;
    sequence.busy = true;
    return sequence;
  }

  /** Ends a use; the tokens stay cached for the owner. */
  release(sequence: Sequence): void {
    sequence.busy = false;
    sequence.lastUsed = ++this.#clock;
  }

  /** Forgets an owner's tokens. */
  free(owner: object): void {
    for (const sequence of this.#sequences) {
      if (sequence.owner !== owner || sequence.busy) continue;
      sequence.owner = undefined;
      sequence.ids.length = 0;
    }
  }
}

/** Number of leading ids that two sequences share. */
export function commonPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}
