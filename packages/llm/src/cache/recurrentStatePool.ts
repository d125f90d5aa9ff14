import { ProgramError } from "@centella/core";
import { type Access, isOpenTo } from "./prefixCache.ts";

/** Rows of recurrent state per sequence: the current one, the one before a draft, and earlier positions to continue from. */
export const stateRowsPerSequence = 4;

/** A row of the recurrent state tensors: one state of every recurrent layer. */
export interface StateRow {
  readonly index: number;
  /** The tokens that the state follows; undefined while a run changes it. */
  ids: readonly number[] | undefined;
  /** Which sequences may continue from it. */
  access: Access;
  isBusy: boolean;
  lastUsed: number;
}

/** A row whose state follows known tokens. */
export type SavedStateRow = StateRow & { readonly ids: readonly number[] };

/** Copies states on the device. Runs that are submitted later see the copies. */
export interface StateCopier {
  copyState(from: number, to: number): void;
}

/**
 * The states of a recurrent model. A state advances token by token and cannot be rolled back, so each sequence continues on a copy. States
 * of earlier positions stay until their rows are needed; the least recently used row is reused first.
 */
export class RecurrentStatePool {
  readonly #copier: StateCopier;
  readonly #rows: readonly StateRow[];
  #clock = 0;

  constructor(count: number, copier: StateCopier) {
    this.#copier = copier;
    this.#rows = Array.from({ length: count }, (_, index) => ({ index, ids: undefined, access: {}, isBusy: false, lastUsed: 0 }));
  }

  /** Rows that hold the state after a prefix of a text and that sequences of this access may read, the longest prefix first. */
  after(text: readonly number[], access: Access = {}): readonly SavedStateRow[] {
    const isPrefix = (ids: readonly number[]): boolean =>
      ids.length > 0 && ids.length <= text.length && ids.every((id, i) => id === text[i]);
    return this.#rows
      .filter((row): row is SavedStateRow => row.ids !== undefined && isPrefix(row.ids))
      .filter((row) => isOpenTo(row.access, access))
      .sort((p, q) => q.ids.length - p.ids.length || q.lastUsed - p.lastUsed);
  }

  /** Takes a row to work on: a copy of `from`, or an empty state. */
  take(from?: StateRow): StateRow {
    if (from !== undefined) from.lastUsed = ++this.#clock;
    const [row] = this.#rows
      .filter((candidate) => !candidate.isBusy && candidate !== from)
      .sort((p, q) => Number(p.ids !== undefined) - Number(q.ids !== undefined) || p.lastUsed - q.lastUsed);
    if (row === undefined)
      throw new ProgramError("feed: expected a free row of recurrent state, got none; this is a bug, please report it");
    if (from !== undefined) this.#copier.copyState(from.index, row.index);
    row.isBusy = true;
    row.ids = from?.ids;
    row.access = from?.access ?? {};
    return row;
  }

  /** Forgets all states. They must be unused. */
  clear(): void {
    for (const row of this.#rows) row.ids = undefined;
  }

  /** Gives a row back. Its state stays cached. */
  release(row: StateRow): void {
    row.isBusy = false;
    row.lastUsed = ++this.#clock;
  }
}

/** The recurrent state of one sequence: its current row and, while a draft is verified, the row to return to. */
export class SequenceState {
  readonly #pool: RecurrentStatePool;
  #current: StateRow;
  #beforeDraft: StateRow | undefined;

  /** Continues from a copy of `from`, or begins with an empty state. `ids` are the tokens that the state follows. */
  constructor(pool: RecurrentStatePool, from: StateRow | undefined, ids: readonly number[]) {
    this.#pool = pool;
    this.#current = pool.take(from);
    this.#current.ids = ids;
  }

  /** Index of the current row. */
  get row(): number {
    return this.#current.index;
  }

  get access(): Access {
    return this.#current.access;
  }

  set access(access: Access) {
    this.#current.access = access;
  }

  /**
   * Marks the state as changing. `ids` is the sequence's list, the same object in every call.
   * @throws {ProgramError} if an earlier run failed, because the state cannot be rolled back
   */
  beginRun(ids: readonly number[]): void {
    if (ids.length > 0 && this.#current.ids !== ids)
      throw new ProgramError("feed: expected a sequence whose runs were all done, got one with a failed run; restart it");
    this.#current.ids = undefined;
  }

  /** Records that the state follows these tokens. */
  endRun(ids: readonly number[]): void {
    this.#current.ids = ids;
  }

  /** Continues on a copy until {@link endDraft}. */
  beginDraft(ids: readonly number[]): void {
    const before = this.#current;
    this.#beforeDraft = before;
    this.#current = this.#pool.take(before);
    before.ids = [...ids];
  }

  /** Keeps the copy if all drafted tokens were accepted, and otherwise returns to the state before the draft. @returns whether it was kept */
  endDraft(isAccepted: boolean, ids: readonly number[]): boolean {
    const before = this.#beforeDraft;
    this.#beforeDraft = undefined;
    if (before === undefined) return true;
    if (isAccepted) {
      this.#pool.release(before);
      return true;
    }
    this.#current.ids = undefined;
    this.#pool.release(this.#current);
    this.#current = before;
    before.ids = ids;
    return false;
  }

  /** Gives the rows back. Their states stay cached. */
  release(): void {
    this.#pool.release(this.#current);
    if (this.#beforeDraft !== undefined) this.#pool.release(this.#beforeDraft);
  }
}
