import { ProgramError } from "@centella/core";
import { type Block, blockTokens, type PrefixCache } from "./prefixCache.ts";
import type { RecurrentStatePool, StateRow } from "./recurrentStatePool.ts";

/** State that the sequences of a model share. */
export interface SequenceCache {
  readonly prefixCache: PrefixCache;
  /** Undefined unless the model is recurrent. */
  readonly recurrentStates: RecurrentStatePool | undefined;
  /** Waits until a parked sequence may be used again. @throws {DisposedError}; the signal's reason */
  readmit(signal: AbortSignal | undefined): Promise<void>;
}

/** A text that is being computed: its cached tokens, in order, and the cache blocks that hold their keys and values. */
export class Sequence {
  readonly #cache: SequenceCache;
  readonly #owner: object;
  /** Scope of the private blocks and states that the sequence may read; see `Block.scope`. */
  readonly #scope: object | undefined;
  /** Scope of the blocks that it holds: undefined if this model computed all of them. */
  #heldScope: object | undefined;
  /** Current row of recurrent state and, while a draft is verified, the row to return to. */
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

  /** Index of its row of recurrent state; undefined unless the model is recurrent. */
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

  /** Whether the sequence has released its blocks. It must be {@link unpark unparked} before it is used again. */
  get isParked(): boolean {
    return this.#isParked;
  }

  /**
   * Takes blocks for `count` more tokens and returns their slots in the cache.
   * @throws {ProgramError} if an earlier run failed on a recurrent state, which cannot be rolled back
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

  /** Records that the next reserved slots now hold these tokens. */
  append(ids: readonly number[]): void {
    for (const id of ids) {
      this.#blocks[Math.floor(this.#ids.length / blockTokens)]!.ids.push(id);
      this.#ids.push(id);
    }
    if (this.#state !== undefined) this.#state.ids = this.#ids;
  }

  /**
   * Switches to another text and claims as much of `prefix` as is cached. The previous text stays cached. A recurrent model continues from
   * the last position in `prefix` that has a saved state, or starts over if there is none.
   */
  restart(prefix: readonly number[]): void {
    if (this.#isParked) {
      this.#ids = [...prefix];
      return;
    }
    this.release();
    if (this.#cache.recurrentStates === undefined) this.#claim(prefix);
    else {
      const from = this.#cache.recurrentStates.after(prefix, this.#scope).find((row) => this.#claimWhole(row));
      this.#state = this.#cache.recurrentStates.take(from);
      this.#state.ids = this.#ids;
    }
    this.#setScope(this.#state?.scope ?? this.#blocks.at(-1)?.scope);
  }

  /** Makes everything that is written from now on private to the sequence's scope, because it comes from outside and may be forged. */
  distrust(): void {
    this.#setScope(this.#scope);
  }

  /** Releases the blocks. They stay cached until their memory is needed. */
  park(): void {
    const ids = [...this.#ids];
    this.release();
    this.#ids = ids;
    this.#isParked = true;
  }

  /**
   * Waits in the queue and claims the blocks again.
   * @returns the last ids, which are no longer cached and must be computed again
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(signal: AbortSignal | undefined): Promise<readonly number[]> {
    await this.#cache.readmit(signal);
    const ids = this.#ids;
    this.#isParked = false;
    this.restart(ids);
    return ids.slice(this.#ids.length);
  }

  /** Begins the verification of a draft, which {@link acceptDraft} ends. */
  beginDraft(): void {
    if (this.#state === undefined) return;
    const before = this.#state;
    this.#stateBefore = before;
    this.#state = this.#cache.recurrentStates!.take(before);
    before.ids = [...this.#ids];
  }

  /**
   * Accepts the first `count` of the ids that a draft reserved slots for.
   * @returns the accepted ids that must be computed again: the sequence was parked in the meantime, or its state had advanced over rejected ids
   */
  acceptDraft(ids: readonly number[], count: number): readonly number[] {
    const kept = ids.slice(0, count);
    if (this.#isParked) return kept;
    const before = this.#stateBefore;
    this.#stateBefore = undefined;
    if (before === undefined || count === ids.length) {
      if (before !== undefined) this.#cache.recurrentStates!.release(before);
      this.append(kept);
      return [];
    }
    this.#state!.ids = undefined;
    this.#cache.recurrentStates!.release(this.#state!);
    this.#state = before;
    before.ids = this.#ids;
    return kept;
  }

  /** Releases all blocks and states. They stay cached. */
  release(): void {
    this.#cache.prefixCache.release(this.#blocks);
    for (const row of [this.#state, this.#stateBefore]) if (row !== undefined) this.#cache.recurrentStates!.release(row);
    [this.#blocks, this.#ids, this.#state, this.#stateBefore] = [[], [], undefined, undefined];
  }

  #claim(prefix: readonly number[]): void {
    this.#blocks = this.#cache.prefixCache.claim(prefix, this.#owner, this.#scope);
    this.#ids = this.#blocks.flatMap(({ ids }) => ids);
  }

  /** Claims the whole text of a state, copying a block that another sequence has begun. Returns false if the text is not cached. */
  #claimWhole({ ids, scope }: StateRow): boolean {
    const text = ids!;
    this.#heldScope = scope;
    this.#claim(text);
    while (this.#ids.length < text.length && this.#extend(text));
    if (this.#ids.length === text.length) return true;
    this.#cache.prefixCache.release(this.#blocks);
    [this.#blocks, this.#ids] = [[], []];
    return false;
  }

  /** Extends the claimed text to the end of a block. Returns false if the rest of the block is not cached. */
  #extend(text: readonly number[]): boolean {
    const { copier } = this.#cache.recurrentStates!;
    const start = this.#ids.length;
    const ids = text.slice(start, blockTokens * (Math.floor(start / blockTokens) + 1));
    const isBegun = start % blockTokens !== 0;
    if (copier.hasCache) {
      const origin = isBegun ? undefined : this.#cache.prefixCache.findChild(this.#blocks.at(-1), ids, this.#scope);
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

  /** @param kept a block that must not be evicted */
  #grow(kept?: Block): void {
    this.#blocks.push(this.#cache.prefixCache.grow(this.#blocks.at(-1), { owner: this.#owner, scope: this.#heldScope }, kept));
  }

  /** A state depends on everything computed before it, so it has the same scope. */
  #setScope(scope: object | undefined): void {
    this.#heldScope = scope;
    if (this.#state !== undefined) this.#state.scope = scope;
  }
}
