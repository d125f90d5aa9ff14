import { ProgramError } from "@centella/core";
import { type Block, type BlockTree, blockTokens } from "./blockTree.ts";
import type { StateRow, StateRows } from "./stateRows.ts";

/** What the sequences of a model share. */
export interface SequenceCache {
  readonly tree: BlockTree;
  /** Of a recurrent model. */
  readonly states: StateRows | undefined;
  /** Waits until a parked sequence may be computed on again. @throws {DisposedError}; the signal's reason */
  readmit(signal: AbortSignal | undefined): Promise<void>;
}

/** A text that is being computed: the tokens whose keys and values are cached, in order, and their places in the cache. */
export class Sequence {
  readonly #cache: SequenceCache;
  readonly #owner: object;
  /** Which private blocks and states it may read; see `Block.scope`. */
  readonly #scope: object | undefined;
  /** The scope of what it holds: undefined if this model computed all of it. */
  #heldScope: object | undefined;
  /** The row that it works on, and during a guess the one that it goes back to. */
  #state: StateRow | undefined;
  #stateBefore: StateRow | undefined;
  #ids: number[] = [];
  #blocks: Block[] = [];
  #isParked = false;

  constructor(cache: SequenceCache, owner: object, scope?: object) {
    this.#cache = cache;
    this.#owner = owner;
    this.#scope = scope;
  }

  /** The row of its states, of a recurrent model. */
  get stateRow(): number | undefined {
    return this.#state?.index;
  }

  /** Ids of its tokens; position = index. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Indices of its blocks in the cache. */
  get blocks(): readonly number[] {
    return this.#blocks.map(({ index }) => index);
  }

  /** Whether its blocks were given up for now: {@link unpark} it before anything is computed on it. */
  get isParked(): boolean {
    return this.#isParked;
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
    while (this.#blocks.length * blockTokens < start + count) this.#grow();
    return this.slots(start, count);
  }

  /** Slots of `count` positions from `start` on. */
  slots(start: number, count: number): Int32Array {
    return Int32Array.from({ length: count }, (_, i) => {
      const position = start + i;
      return this.#blocks[Math.floor(position / blockTokens)]!.index * blockTokens + (position % blockTokens);
    });
  }

  /** Records that the next reserved slots hold these tokens now. */
  append(ids: readonly number[]): void {
    for (const id of ids) {
      this.#blocks[Math.floor(this.#ids.length / blockTokens)]!.ids.push(id);
      this.#ids.push(id);
    }
    if (this.#state !== undefined) this.#state.ids = this.#ids;
  }

  /**
   * Begins another text with as much of `prefix` as is cached; what it held stays cached. A recurrent state continues only from its own
   * position: the text is computed from the last position in it that has one, or from its start, where states begin again.
   */
  restart(prefix: readonly number[]): void {
    if (this.#isParked) {
      this.#ids = [...prefix];
      return;
    }
    this.release();
    if (this.#cache.states === undefined) this.#claim(prefix);
    else {
      const from = this.#cache.states.after(prefix, this.#scope).find((row) => this.#claimWhole(row));
      this.#state = this.#cache.states.take(from);
      this.#state.ids = this.#ids;
    }
    this.#setScope(this.#state?.scope ?? this.#blocks.at(-1)?.scope);
  }

  /** Makes what is written from here on private to the sequence's scope: it comes from outside and may be false. */
  distrust(): void {
    this.#setScope(this.#scope);
  }

  /** Gives its blocks up for now. They stay cached while there is room. */
  park(): void {
    const ids = [...this.#ids];
    this.release();
    this.#ids = ids;
    this.#isParked = true;
  }

  /**
   * Claims its blocks again, in turn.
   * @returns the ids at its end that are no longer cached: they have to be computed again
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(signal: AbortSignal | undefined): Promise<readonly number[]> {
    await this.#cache.readmit(signal);
    const ids = this.#ids;
    this.#isParked = false;
    this.restart(ids);
    return ids.slice(this.#ids.length);
  }

  /** Makes the next run a guess, which {@link settle} ends. */
  beginGuess(): void {
    if (this.#state === undefined) return;
    const before = this.#state;
    this.#stateBefore = before;
    this.#state = this.#cache.states!.take(before);
    before.ids = [...this.#ids];
  }

  /**
   * Keeps the first `count` of the ids that a guess reserved slots for.
   * @returns those that have to be computed again: the slots were given up meanwhile, or a state went on over wrong ids and is taken back
   */
  settle(ids: readonly number[], count: number): readonly number[] {
    const kept = ids.slice(0, count);
    if (this.#isParked) return kept;
    const before = this.#stateBefore;
    this.#stateBefore = undefined;
    if (before === undefined || count === ids.length) {
      if (before !== undefined) this.#cache.states!.release(before);
      this.append(kept);
      return [];
    }
    this.#state!.ids = undefined;
    this.#cache.states!.release(this.#state!);
    this.#state = before;
    before.ids = this.#ids;
    return kept;
  }

  /** Ends its use; what it held stays cached. */
  release(): void {
    this.#cache.tree.release(this.#blocks);
    for (const row of [this.#state, this.#stateBefore]) if (row !== undefined) this.#cache.states!.release(row);
    [this.#blocks, this.#ids, this.#state, this.#stateBefore] = [[], [], undefined, undefined];
  }

  #claim(prefix: readonly number[]): void {
    this.#blocks = this.#cache.tree.claim(prefix, this.#owner, this.#scope);
    this.#ids = this.#blocks.flatMap(({ ids }) => ids);
  }

  /** Claims all of a state's text, with a copy of a block that another sequence has begun; false if the text is not cached. */
  #claimWhole({ ids, scope }: StateRow): boolean {
    const text = ids!;
    this.#heldScope = scope;
    this.#claim(text);
    while (this.#ids.length < text.length && this.#extend(text));
    if (this.#ids.length === text.length) return true;
    this.#cache.tree.release(this.#blocks);
    [this.#blocks, this.#ids] = [[], []];
    return false;
  }

  /** Goes on to the end of a block; false if what it would hold is not cached. */
  #extend(text: readonly number[]): boolean {
    const { copier } = this.#cache.states!;
    const start = this.#ids.length;
    const ids = text.slice(start, blockTokens * (Math.floor(start / blockTokens) + 1));
    const isBegun = start % blockTokens !== 0;
    if (copier.hasCache) {
      const origin = isBegun ? undefined : this.#cache.tree.blockWith(this.#blocks.at(-1), ids, this.#scope);
      if (origin === undefined) return false;
      this.#heldScope ??= origin.scope;
      this.#grow(origin);
      const from = Int32Array.from(ids, (_, i) => origin.index * blockTokens + i);
      if (!copier.copySlots(from, this.slots(start, ids.length))) return false;
    } else if (!isBegun) this.#grow();
    this.#blocks.at(-1)!.ids.push(...ids);
    this.#ids.push(...ids);
    return true;
  }

  /** @param kept a block that must not make room for the new one */
  #grow(kept?: Block): void {
    this.#blocks.push(this.#cache.tree.grow(this.#blocks.at(-1), { owner: this.#owner, scope: this.#heldScope }, kept));
  }

  /** A state depends on all that was computed before it, so it is of the same scope. */
  #setScope(scope: object | undefined): void {
    this.#heldScope = scope;
    if (this.#state !== undefined) this.#state.scope = scope;
  }
}
