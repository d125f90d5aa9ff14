/** Rows of states that a model keeps for each sequence: the one that it works on, the one before a guess, and others that it was at before. */
export const stateRowsPerSequence = 4;

/** A row of the states of a recurrent model. */
export interface StateRow {
  readonly index: number;
  /** The tokens behind which it stands, or nobody knows. */
  ids: readonly number[] | undefined;
  /** Which sequences may go on from it; see `Block.scope`. */
  scope: object | undefined;
  isBusy: boolean;
  lastUsed: number;
}

/** Copies what a model keeps of its sequences on the device: runs that are begun afterwards find it done. */
export interface StateCopier {
  /** Whether layers keep keys and values besides. */
  readonly hasCache: boolean;
  copyState(from: number, to: number): void;
  /** Copies slots of the cache, few of them. False: the cache cannot be copied. */
  copySlots(from: Int32Array, to: Int32Array): boolean;
}

/**
 * The states of a recurrent model. A state goes on token by token and cannot be taken back, so whoever goes on from one does so on a copy,
 * and the places where it stood before stay until their room is needed: those that were used longest ago go first.
 */
export class StateRows {
  readonly copier: StateCopier;
  readonly #rows: readonly StateRow[];
  #clock = 0;

  constructor(count: number, copier: StateCopier) {
    this.copier = copier;
    this.#rows = Array.from({ length: count }, (_, index) => ({ index, ids: undefined, scope: undefined, isBusy: false, lastUsed: 0 }));
  }

  /** Rows that hold the state after a beginning of a text, the longest beginning first, among those that sequences of `scope` may read. */
  after(text: readonly number[], scope?: object): readonly StateRow[] {
    const isAfter = (ids: readonly number[]): boolean =>
      ids.length > 0 && ids.length <= text.length && ids.every((id, i) => id === text[i]);
    return this.#rows
      .filter((row) => row.ids !== undefined && (row.scope === undefined || row.scope === scope) && isAfter(row.ids))
      .sort((p, q) => q.ids!.length - p.ids!.length || q.lastUsed - p.lastUsed);
  }

  /** A row to work on, which stands where `from` does, or nowhere. */
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

  /** Ends the work on a row; where it stands is kept. */
  release(row: StateRow): void {
    row.isBusy = false;
    row.lastUsed = ++this.#clock;
  }
}
