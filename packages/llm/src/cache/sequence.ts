import { ProgramError } from "@centella/core";
import type { AppliedAdapters } from "../load/adapterScales.ts";
import { type Access, type Block, blockTokens, type Part, type PrefixCache } from "./prefixCache.ts";
import { type RecurrentStatePool, type SavedStateRow, SequenceState } from "./recurrentStatePool.ts";
import type { SlotCopier } from "./slotCopier.ts";

/** Cache that the sequences of a model share. */
export interface SequenceCache {
  readonly prefixCache: PrefixCache;
  /** Undefined if the model keeps no keys and values. */
  readonly slotCopier: SlotCopier | undefined;
  /** Undefined unless the model is recurrent. */
  readonly recurrentStates: RecurrentStatePool | undefined;
  /** Empties the cache and parks all sequences if the device was opened again since the last call: its memory is zeros. */
  check(): void;
  /** Waits until a parked sequence may be used again. @throws {DisposedError}; the signal's reason */
  readmit(signal: AbortSignal | undefined): Promise<void>;
}

/** How a {@link Sequence} is computed, and what it may read. */
export interface SequenceOptions {
  /** See {@link Access}. */
  readonly scope?: object | undefined;
  /** Adapters that its tokens are computed with. Default: none that sequences choose. */
  readonly adapters?: AppliedAdapters | undefined;
}

/** A text that is being computed: its cached tokens, in order, and the cache blocks that hold their keys and values. */
export class Sequence {
  /** States `[tokens, width]` of the prompt that an encoder has read; undefined unless the model has an encoder and a decoder. */
  encoded: Float32Array | undefined;
  readonly #cache: SequenceCache;
  readonly #owner: object;
  /** Adapters that its tokens are computed with. Undefined: none that sequences choose. */
  readonly adapters: AppliedAdapters | undefined;
  readonly #access: Access;
  /** Scope of the blocks that it holds: undefined if this model computed all of them. */
  #heldScope: object | undefined;
  /** Undefined unless the model is recurrent. */
  #state: SequenceState | undefined;
  #ids: number[] = [];
  #blocks: Block[] = [];
  #isParked = false;
  #revision = 0;

  constructor(cache: SequenceCache, owner: object, { scope, adapters }: SequenceOptions = {}) {
    this.#cache = cache;
    this.#owner = owner;
    this.adapters = adapters;
    this.#access = { scope, adapters: adapters?.key };
  }

  /** Index of its row of recurrent state. @throws {ProgramError} if the model is not recurrent */
  get stateRow(): number {
    if (this.#state === undefined) throw new ProgramError("sequence: expected a recurrent model, got one without recurrent states");
    return this.#state.row;
  }

  /** Ids of its tokens; position = index. */
  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Indices of its blocks in the cache. */
  get blocks(): readonly number[] {
    return this.#blocks.map(({ index }) => index);
  }

  /** Number of times that it gave up its blocks. Work that was prepared for its next tokens before is void. */
  get revision(): number {
    return this.#revision;
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
    this.reserveUntil(start + count);
    return this.slots(start, count);
  }

  /** Takes blocks for all positions before `end`. @throws as {@link reserve} */
  reserveUntil(end: number): void {
    this.#state?.beginRun(this.#ids);
    this.reserveBlocks(end);
  }

  /** Takes blocks for all positions before `end`, for what is computed of them besides the model's states. */
  reserveBlocks(end: number): void {
    while (this.#blocks.length * blockTokens < end) this.#grow();
  }

  /** Slots of `count` positions from `start` on. */
  slots(start: number, count: number): Int32Array {
    const slots = new Int32Array(count);
    for (let i = 0; i < count; i++) slots[i] = this.slotOf(start + i);
    return slots;
  }

  /** Slot of a position in the cache. */
  slotOf(position: number): number {
    return this.blockOf(position) * blockTokens + (position % blockTokens);
  }

  /** Index of the block that holds a position. */
  blockOf(position: number): number {
    return this.#blockAt(position).index;
  }

  /** Writes the indices of its blocks to `table` from `offset` on. */
  writeBlocks(table: Int32Array, offset: number): void {
    for (const { index } of this.#blocks) table[offset++] = index;
  }

  /** Records that the next reserved slots now hold these tokens. */
  append(ids: readonly number[]): void {
    for (const id of ids) {
      this.#blockAt(this.#ids.length).ids.push(id);
      this.#ids.push(id);
    }
    this.#state?.endRun(this.#ids);
  }

  /** Prepares {@link restart}: opens what copies tokens of a block that the text shares only in part. */
  async prepare(prefix: readonly number[]): Promise<void> {
    const { slotCopier, prefixCache } = this.#cache;
    if (slotCopier?.isOpen === false && prefixCache.hasPart(prefix, this.#owner, this.#access)) await slotCopier.open();
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
    const { recurrentStates } = this.#cache;
    if (recurrentStates === undefined) this.#claim(prefix);
    else {
      const from = recurrentStates.after(prefix, this.#access).find((row) => this.#claimText(row));
      this.#state = new SequenceState(recurrentStates, from, this.#ids);
    }
    this.#setScope(this.#state?.access.scope ?? this.#blocks.at(-1)?.scope);
  }

  /** Makes everything that is written from now on private to the sequence's scope, because it comes from outside and may be forged. */
  distrust(): void {
    const { scope } = this.#access;
    const last = this.#blocks.at(-1);
    // A block that is full is not written to any more.
    if (last !== undefined && last.ids.length < blockTokens) last.scope = scope;
    this.#setScope(scope);
  }

  /** Parks the sequence, as all others, if the device was opened again since it was used last. */
  checkCache(): void {
    this.#cache.check();
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
    this.#state?.beginDraft(this.#ids);
  }

  /**
   * Accepts the first `count` of the ids that a draft reserved slots for, and rejects the remaining ones.
   * @returns the accepted ids that must be computed again: the sequence was parked in the meantime, or its state had advanced over rejected ids
   */
  acceptDraft(ids: readonly number[], count: number): readonly number[] {
    const accepted = ids.slice(0, count);
    if (this.#isParked) return accepted;
    const isKept = this.#state?.endDraft(count === ids.length, this.#ids) ?? true;
    if (!isKept) return accepted;
    this.append(accepted);
    return [];
  }

  /** Releases all blocks and states. They stay cached. */
  release(): void {
    this.#revision++;
    this.#cache.prefixCache.release(this.#blocks);
    this.#state?.release();
    [this.#blocks, this.#ids, this.#state, this.#heldScope] = [[], [], undefined, undefined];
  }

  #claim(prefix: readonly number[]): void {
    const { slotCopier, prefixCache } = this.#cache;
    const { blocks, part } = prefixCache.claim(prefix, this.#owner, this.#access, slotCopier?.isOpen);
    this.#blocks = blocks;
    this.#ids = blocks.flatMap(({ ids }) => ids);
    if (part !== undefined && slotCopier !== undefined) this.#copy(part, slotCopier);
  }

  /** Copies the next tokens of the text from a block that another text continues. */
  #copy({ block, count }: Part, copier: SlotCopier): void {
    const start = this.#ids.length;
    this.#heldScope ??= block.scope;
    this.#grow(block);
    const from = Int32Array.from({ length: count }, (_, i) => block.index * blockTokens + i);
    if (copier.copy(from, this.slots(start, count))) this.append(block.ids.slice(0, count));
  }

  /** Claims the whole text of a state. Returns false if the keys and values of the text are not cached. */
  #claimText({ ids: text, access }: SavedStateRow): boolean {
    this.#heldScope = access.scope;
    this.#claim(text);
    if (this.#cache.slotCopier === undefined) {
      this.reserveBlocks(text.length);
      this.append(text.slice(this.#ids.length));
    }
    if (this.#ids.length === text.length) return true;
    this.#cache.prefixCache.release(this.#blocks);
    [this.#blocks, this.#ids] = [[], []];
    return false;
  }

  /** The block that holds a position. */
  #blockAt(position: number): Block {
    const block = this.#blocks[Math.floor(position / blockTokens)];
    if (block === undefined) throw new ProgramError(`sequence: expected a position with a reserved slot, got ${position}`);
    return block;
  }

  /** @param kept a block that must not be evicted */
  #grow(kept?: Block): void {
    this.#blocks.push(
      this.#cache.prefixCache.grow(this.#blocks.at(-1), { ...this.#access, owner: this.#owner, scope: this.#heldScope }, kept),
    );
  }

  /** A state depends on everything computed before it, so it has the same scope. */
  #setScope(scope: object | undefined): void {
    this.#heldScope = scope;
    if (this.#state !== undefined) this.#state.access = { ...this.#access, scope };
  }
}
