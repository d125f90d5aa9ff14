/** Rows of recurrent state per sequence: the current one, the one before a draft, and earlier positions to continue from. */
export const stateRowsPerSequence = 4;

/** A row of the states of a recurrent model. */
export interface StateRow {
  readonly index: number;
  /** The tokens that the state follows; undefined while a run changes it. */
  ids: readonly number[] | undefined;
  /** Scope of the sequences that may continue from it; see `Block.scope`. */
  scope: object | undefined;
  isBusy: boolean;
  lastUsed: number;
}

/** Copies states and cache slots on the device. Runs that are submitted later see the copies. */
export interface StateCopier {
  /** Whether some layers also keep keys and values. */
  readonly hasCache: boolean;
  copyState(from: number, to: number): void;
  /** Copies a few slots of the cache. Returns false if the backend cannot copy within the cache. */
  copySlots(from: Int32Array, to: Int32Array): boolean;
}

/**
 * The states of a recurrent model. A state advances token by token and cannot be rolled back, so each sequence continues on a copy. States
 * of earlier positions stay until their rows are needed; the least recently used row is reused first.
 */
export class RecurrentStatePool {
  readonly copier: StateCopier;
  readonly #rows: readonly StateRow[];
  #clock = 0;

  constructor(count: number, copier: StateCopier) {
    this.copier = copier;
    this.#rows = Array.from({ length: count }, (_, index) => ({ index, ids: undefined, scope: undefined, isBusy: false, lastUsed: 0 }));
  }

  /** Rows that hold the state after a prefix of a text and that sequences of `scope` may read, the longest prefix first. */
  after(text: readonly number[], scope?: object): readonly StateRow[] {
    const isAfter = (ids: readonly number[]): boolean =>
      ids.length > 0 && ids.length <= text.length && ids.every((id, i) => id === text[i]);
    return this.#rows
      .filter((row) => row.ids !== undefined && (row.scope === undefined || row.scope === scope) && isAfter(row.ids))
      .sort((p, q) => q.ids!.length - p.ids!.length || q.lastUsed - p.lastUsed);
  }

  /** Takes a row to work on: a copy of `from`, or an empty state. */
  take(from?: StateRow): StateRow {
    if (from !== undefined) from.lastUsed = ++this.#clock;
    const [row] = this.#rows
      .filter((candidate) => !candidate.isBusy && candidate !== from)
      .sort((p, q) => Number(p.ids !== undefined) - Number(q.ids !== undefined) || p.lastUsed - q.lastUsed);
    if (from !== undefined) this.copier.copyState(from.index, row!.index);
    row!.isBusy = true;
    row!.ids = from?.ids;
    row!.scope = from?.scope;
    return row!;
  }

  /** Gives a row back. Its state stays cached. */
  release(row: StateRow): void {
    row.isBusy = false;
    row.lastUsed = ++this.#clock;
  }
}
