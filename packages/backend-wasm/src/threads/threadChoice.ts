/** Runs after which the way that was slower is tried again. */
const retryRuns = 24;
/** Runs before anything is measured: code is slow until it was optimised. */
const warmUpRuns = 4;
/** Times of each way that count: as many as tell an outlier. */
const kept = 3;

/** Whether a run is faster on all threads or on the caller's alone, told by the last times of either: a matter of the work's size, and of what else the cores do. */
export class ThreadChoice {
  readonly #times = { together: [] as number[], alone: [] as number[] };
  #runs = 0;

  /** Whether the next run is for all threads. */
  next(): boolean {
    const { together, alone } = this.#times;
    const run = this.#runs++;
    if (run < warmUpRuns) return run % 2 === 0;
    if (together.length < kept || alone.length < kept) return together.length <= alone.length;
    const isFaster = median(together) <= median(alone);
    return run % retryRuns === 0 ? !isFaster : isFaster;
  }

  /** Takes what the run took that `next` was asked for, in any unit. */
  record(isTogether: boolean, time: number): void {
    if (this.#runs <= warmUpRuns) return;
    const times = isTogether ? this.#times.together : this.#times.alone;
    times.push(time);
    if (times.length > kept) times.shift();
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}
