import { type Block, BlockTree, blockTokens } from "./blockTree.ts";
import { BusyError } from "./errors.ts";

/** A sequence that is being computed: the tokens whose keys and values are cached, in order, and where they lie. */
export class Sequence {
  /** Its number among those of the pool. */
  readonly index: number;
  readonly #tree: BlockTree;
  readonly #owner: object;
  #ids: number[] = [];
  #blocks: Block[] = [];

  constructor(index: number, tree: BlockTree, owner: object) {
    this.index = index;
    this.#tree = tree;
    this.#owner = owner;
  }

  /** Ids of the cached tokens; position = index. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Indices of its blocks in the cache. */
  get blocks(): readonly number[] {
    return this.#blocks.map(({ index }) => index);
  }

  /** Takes blocks for `count` more tokens and returns their slots in the cache. */
  reserve(count: number): Int32Array {
    const start = this.#ids.length;
    while (this.#blocks.length * blockTokens < start + count) this.#blocks.push(this.#tree.grow(this.#blocks.at(-1), this.#owner));
    return this.slots(start, count);
  }

  /** Slots of `count` positions from `start` on. */
  slots(start: number, count: number): Int32Array {
    return Int32Array.from({ length: count }, (_, i) => {
      const position = start + i;
      return this.#blocks[Math.floor(position / blockTokens)]!.index * blockTokens + (position % blockTokens);
    });
  }

  /** Tells that the next reserved slots hold these tokens now. */
  append(ids: readonly number[]): void {
    for (const id of ids) {
      this.#blocks[Math.floor(this.#ids.length / blockTokens)]!.ids.push(id);
      this.#ids.push(id);
    }
  }

  /** Begins another text with as much of `prefix` as is cached; what it held stays cached. */
  restart(prefix: readonly number[]): void {
    this.#tree.release(this.#blocks);
    this.#blocks = this.#tree.claim(prefix, this.#owner);
    this.#ids = this.#blocks.flatMap(({ ids }) => ids);
  }
}

/**
 * Who computes on a model's key-value cache. A text that begins as another one did finds that beginning cached, unless its room was
 * needed meanwhile.
 */
export class SequencePool {
  readonly #tree: BlockTree;
  readonly #busy: (Sequence | undefined)[];

  /** @param blocks for each sequence */
  constructor(count: number, blocks: number) {
    this.#tree = new BlockTree(count * blocks);
    this.#busy = Array.from({ length: count }, () => undefined);
  }

  /**
   * A sequence that holds as much of the beginning of `prefix` as is cached. Give it back with {@link release}.
   * @throws {BusyError} if as many as the pool has are in use
   */
  acquire(owner: object, prefix: readonly number[] = []): Sequence {
    const index = this.#busy.indexOf(undefined);
    if (index < 0) {
      const count = this.#busy.length;
      throw new BusyError(
        `model: expected an idle sequence, got ${count} of ${count} in use; wait for a generation to end, or load the model with more sequences`,
      );
    }
    const sequence = new Sequence(index, this.#tree, owner);
    sequence.restart(prefix);
    this.#busy[index] = sequence;
    return sequence;
  }

  /** Ends a use; the tokens stay cached. */
  release(sequence: Sequence): void {
    sequence.restart([]);
    this.#busy[sequence.index] = undefined;
  }

  /** Forgets an owner's tokens, as far as no other text continues them. */
  free(owner: object): void {
    this.#tree.forget(owner);
  }
}
