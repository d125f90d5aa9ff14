import { elementAt } from "@centella/core/backend";

/** Runs after which the slower way is tried again. */
const retryRuns = 24;
/** Runs before anything is measured: code is slow until it is optimised. */
const warmUpRuns = 4;
/** Number of times kept for each way: enough to recognise an outlier. */
const kept = 3;

/**
 * Decides from recent times whether runs are faster on all threads or on the caller's alone. That depends on the work's
 * size and on the load of the cores.
 */
export class ThreadChoice {
  readonly #times = { together: [] as number[], alone: [] as number[] };
  #runs = 0;

  /** Whether the next run uses all threads. */
  next(): boolean {
    const { together, alone } = this.#times;
    const run = this.#runs++;
    if (run < warmUpRuns) return run % 2 === 0;
    if (together.length < kept || alone.length < kept) return together.length <= alone.length;
    const isFaster = median(together) <= median(alone);
    return run % retryRuns === 0 ? !isFaster : isFaster;
  }

  /** Records the time of the run for which `next` was called, in any unit. */
  record(isTogether: boolean, time: number): void {
    if (this.#runs <= warmUpRuns) return;
    const times = isTogether ? this.#times.together : this.#times.alone;
    times.push(time);
    if (times.length > kept) times.shift();
  }
}

/** The middle of some values, or the upper of the two middle ones. */
export function median(values: readonly number[]): number {
  return elementAt(
    values.toSorted((a, b) => a - b),
    values.length >> 1,
  );
}
