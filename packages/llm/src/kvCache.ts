import { ProgramError } from "@centella/core";
import { type Block, BlockTree, blockTokens } from "./blockTree.ts";
import { BusyError } from "./errors.ts";

/** Where a row of the states of a recurrent model stands: behind these tokens, or nobody knows. */
interface StateRow {
  ids: readonly number[] | undefined;
}

/** A sequence that is being computed: the tokens whose keys and values are cached, in order, and where they lie. */
export class Sequence {
  /** Its number among those of the pool. */
  readonly index: number;
  readonly #tree: BlockTree;
  readonly #owner: object;
  readonly #state: StateRow | undefined;
  #ids: number[] = [];
  #blocks: Block[] = [];

  constructor(index: number, tree: BlockTree, owner: object, state: StateRow | undefined) {
    this.index = index;
    this.#tree = tree;
    this.#owner = owner;
    this.#state = state;
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
   * Begins another text with as much of `prefix` as is cached; what it held stays cached. A state can go on only from where it stands:
   * unless `prefix` begins with all of that, the text is computed from its start, where states begin anew.
   */
  restart(prefix: readonly number[]): void {
    this.#tree.release(this.#blocks);
    const state = this.#state;
    const wanted = state === undefined ? prefix : stands(state, prefix) ? state.ids : [];
    this.#blocks = this.#tree.claim(wanted, this.#owner);
    this.#ids = this.#blocks.flatMap(({ ids }) => ids);
    if (state === undefined || this.#ids.length === 0) return;
    if (this.#ids.length < wanted.length) {
      this.#tree.release(this.#blocks);
      [this.#blocks, this.#ids] = [[], []];
    } else state.ids = this.#ids;
  }

  /** Ends its use; what it held stays cached. */
  release(): void {
    this.#tree.release(this.#blocks);
    [this.#blocks, this.#ids] = [[], []];
  }
}

/**
 * Who computes on a model's key-value cache. A text that begins as another one did finds that beginning cached, unless its room was
 * needed meanwhile.
 */
export class SequencePool {
  readonly #tree: BlockTree;
  readonly #busy: (Sequence | undefined)[];
  /** Of a recurrent model. */
  readonly #states: readonly StateRow[] | undefined;

  /** @param blocks for each sequence */
  constructor(count: number, blocks: number, { isRecurrent = false }: { readonly isRecurrent?: boolean } = {}) {
    this.#tree = new BlockTree(count * blocks);
    this.#busy = Array.from({ length: count }, () => undefined);
    this.#states = isRecurrent ? this.#busy.map(() => ({ ids: undefined })) : undefined;
  }

  /**
   * A sequence that holds as much of the beginning of `prefix` as is cached. Give it back with {@link release}.
   * @throws {BusyError} if as many as the pool has are in use
   */
  acquire(owner: object, prefix: readonly number[] = []): Sequence {
    const index = this.#idle(prefix);
    if (index === undefined) {
      const count = this.#busy.length;
      throw new BusyError(
        `model: expected an idle sequence, got ${count} of ${count} in use; wait for a generation to end, or load the model with more sequences`,
      );
    }
    const sequence = new Sequence(index, this.#tree, owner, this.#states?.[index]);
    sequence.restart(prefix);
    this.#busy[index] = sequence;
    return sequence;
  }

  /** Ends a use; the tokens stay cached. */
  release(sequence: Sequence): void {
    sequence.release();
    this.#busy[sequence.index] = undefined;
  }

  /** A sequence that nobody uses: the one whose state is the longest beginning of `prefix`, else one whose state is of no use. */
  #idle(prefix: readonly number[]): number | undefined {
    const idle = [...this.#busy.keys()].filter((index) => this.#busy[index] === undefined);
    const rank = (index: number): number => {
      const state = this.#states?.[index];
      if (state?.ids === undefined) return 0;
      return stands(state, prefix) ? state.ids.length : -state.ids.length;
    };
    return idle.sort((p, q) => rank(q) - rank(p) || p - q)[0];
  }

  /** Forgets an owner's tokens, as far as no other text continues them. */
  free(owner: object): void {
    this.#tree.forget(owner);
  }
}

/** Whether a state stands behind a beginning of a text. */
function stands(state: StateRow, text: readonly number[]): state is StateRow & { readonly ids: readonly number[] } {
  return state.ids !== undefined && state.ids.length <= text.length && state.ids.every((id, i) => id === text[i]);
}
