import { ProgramError } from "@centella/core";
import { type Block, BlockTree, blockTokens } from "./blockTree.ts";
import { BusyError } from "./errors.ts";
import { type StateCopier, type StateRow, StateRows, stateRowsPerSequence } from "./stateRows.ts";

/** A sequence that is being computed: the tokens whose keys and values are cached, in order, and where they lie. */
export class Sequence {
  /** Its number among those of the pool. */
  readonly index: number;
  readonly #tree: BlockTree;
  readonly #owner: object;
  readonly #states: StateRows | undefined;
  /** What it works on, and during a guess what it goes back to. */
  #state: StateRow | undefined;
  #stateBefore: StateRow | undefined;
  #ids: number[] = [];
  #blocks: Block[] = [];

  constructor(index: number, tree: BlockTree, owner: object, states: StateRows | undefined) {
    this.index = index;
    this.#tree = tree;
    this.#owner = owner;
    this.#states = states;
  }

  /** The row of its states, of a recurrent model. */
  get stateRow(): number | undefined {
    return this.#state?.index;
  }

  /** Ids of the cached tokens; position = index. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Indices of its blocks in the cache. */
  get blocks(): readonly number[] {
    return this.#blocks.map(({ index }) => index);
  }

  /**
   * Takes blocks for `count` more tokens and returns their slots in the cache.
   * @throws {ProgramError} if a run before failed that a state was part of: it cannot be taken back
   */
  reserve(count: number): Int32Array {
    const start = this.#ids.length;
    if (this.#state !== undefined) {
      if (start > 0 && this.#state.ids !== this.#ids)
        throw new ProgramError("feed: expected a sequence whose runs were all done, got one with a failed run; restart it");
      this.#state.ids = undefined;
    }
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
    if (this.#state !== undefined) this.#state.ids = this.#ids;
  }

  /**
   * Begins another text with as much of `prefix` as is cached; what it held stays cached. A state goes on only from where it stands: the
   * text is computed from the furthest place in it where one does, or from its start, where states begin anew.
   */
  restart(prefix: readonly number[]): void {
    this.release();
    if (this.#states === undefined) {
      this.#claim(prefix);
      return;
    }
    const from = this.#states.behind(prefix).find((row) => this.#claimWhole(row.ids!));
    this.#state = this.#states.take(from);
    this.#state.ids = this.#ids;
  }

  /** Makes the next run a guess, of which {@link settle} tells how much came true. */
  beginGuess(): void {
    if (this.#state === undefined) return;
    const before = this.#state;
    this.#stateBefore = before;
    this.#state = this.#states!.take(before);
    before.ids = [...this.#ids];
  }

  /**
   * Keeps the first `count` of the ids that a guess reserved slots for.
   * @returns those that have to be computed again: a state that went on over wrong ones is taken back
   */
  settle(ids: readonly number[], count: number): readonly number[] {
    const kept = ids.slice(0, count);
    const before = this.#stateBefore;
    this.#stateBefore = undefined;
    if (before === undefined || count === ids.length) {
      if (before !== undefined) this.#states!.release(before);
      this.append(kept);
      return [];
    }
    this.#state!.ids = undefined;
    this.#states!.release(this.#state!);
    this.#state = before;
    before.ids = this.#ids;
    return kept;
  }

  /** Ends its use; what it held stays cached. */
  release(): void {
    this.#tree.release(this.#blocks);
    for (const row of [this.#state, this.#stateBefore]) if (row !== undefined) this.#states!.release(row);
    [this.#blocks, this.#ids, this.#state, this.#stateBefore] = [[], [], undefined, undefined];
  }

  #claim(prefix: readonly number[]): void {
    this.#blocks = this.#tree.claim(prefix, this.#owner);
    this.#ids = this.#blocks.flatMap(({ ids }) => ids);
  }

  /** Claims all of a text, a block that another one has begun as a copy; false: it is not cached. */
  #claimWhole(text: readonly number[]): boolean {
    this.#claim(text);
    while (this.#ids.length < text.length && this.#extend(text));
    if (this.#ids.length === text.length) return true;
    this.#tree.release(this.#blocks);
    [this.#blocks, this.#ids] = [[], []];
    return false;
  }

  /** Goes on to the end of a block; false: what it would hold is not cached. */
  #extend(text: readonly number[]): boolean {
    const { copier } = this.#states!;
    const start = this.#ids.length;
    const ids = text.slice(start, blockTokens * (Math.floor(start / blockTokens) + 1));
    const isBegun = start % blockTokens !== 0;
    if (copier.hasCache) {
      const origin = isBegun ? undefined : this.#tree.blockWith(this.#blocks.at(-1), ids);
      if (origin === undefined) return false;
      this.#blocks.push(this.#tree.grow(this.#blocks.at(-1), this.#owner, origin));
      const from = Int32Array.from(ids, (_, i) => origin.index * blockTokens + i);
      if (!copier.copySlots(from, this.slots(start, ids.length))) return false;
    } else if (!isBegun) this.#blocks.push(this.#tree.grow(this.#blocks.at(-1), this.#owner));
    this.#blocks.at(-1)!.ids.push(...ids);
    this.#ids.push(...ids);
    return true;
  }
}

/**
 * Who computes on a model's key-value cache. A text that begins as another one did finds that beginning cached, unless its room was
 * needed meanwhile.
 */
export class SequencePool {
  readonly #tree: BlockTree;
  readonly #busy: (Sequence | undefined)[];
  readonly #states: StateRows | undefined;

  /**
   * @param blocks for each sequence
   * @param copier of a recurrent model
   */
  constructor(count: number, blocks: number, copier?: StateCopier) {
    this.#tree = new BlockTree(count * blocks);
    this.#busy = Array.from({ length: count }, () => undefined);
    this.#states = copier && new StateRows(count * stateRowsPerSequence, copier);
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
    const sequence = new Sequence(index, this.#tree, owner, this.#states);
    sequence.restart(prefix);
    this.#busy[index] = sequence;
    return sequence;
  }

  /** Ends a use; the tokens stay cached. */
  release(sequence: Sequence): void {
    sequence.release();
    this.#busy[sequence.index] = undefined;
  }

  /** Forgets an owner's tokens, as far as no other text continues them. */
  free(owner: object): void {
    this.#tree.forget(owner);
  }
}
