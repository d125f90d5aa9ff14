import type { LoadStage } from "../load/loadOptions.ts";
import type { ModelSnapshot } from "./snapshot.ts";

/** Least time between two reports, in ms: more than a page can show are of no use. */
export const reportMs = 100;
/** Time over which rates are smoothed, in ms. */
const smoothingMs = 2_000;

const statuses = { download: "downloading", load: "loading" } as const;

/** Progress of loading as changes of a snapshot. */
export class LoadProgress {
  #stage: LoadStage | undefined;
  #bytes = 0;
  #timeMs = 0;
  #rate: number | undefined;
  #late: ReturnType<typeof setTimeout> | undefined;
  readonly #update: (changes: Partial<ModelSnapshot>) => void;

  constructor(update: (changes: Partial<ModelSnapshot>) => void) {
    this.#update = update;
  }

  /** Reports now, or `reportMs` later if the last report was a moment ago and no newer one has come. */
  report(bytes: number, totalBytes: number, stage: LoadStage, timeMs: number): void {
    this.stop();
    const changes = this.#changes(bytes, totalBytes, stage, timeMs);
    if (changes !== undefined) this.#update(changes);
    else this.#late = setTimeout(() => this.report(bytes, totalBytes, stage, timeMs + reportMs), reportMs);
  }

  /** Nothing is reported any more. */
  stop(): void {
    clearTimeout(this.#late);
  }

  #changes(bytes: number, totalBytes: number, stage: LoadStage, timeMs: number): Partial<ModelSnapshot> | undefined {
    const elapsedMs = timeMs - this.#timeMs;
    if (stage !== this.#stage) {
      this.#stage = stage;
      // A download that goes on begins with the bytes of the earlier one.
      this.#rate = undefined;
    } else if (elapsedMs >= reportMs) {
      this.#rate = smoothed(this.#rate, (1000 * (bytes - this.#bytes)) / elapsedMs, elapsedMs);
    } else {
      return bytes < totalBytes ? undefined : { bytes };
    }
    this.#bytes = bytes;
    this.#timeMs = timeMs;
    return { status: statuses[stage], bytes, totalBytes, rate: this.#rate };
  }
}

/** Exponential average: a sample weighs as much as the share of {@link smoothingMs} that it covers. */
function smoothed(before: number | undefined, sample: number, elapsedMs: number): number {
  const weight = before === undefined ? 1 : 1 - Math.exp(-elapsedMs / smoothingMs);
  return (before ?? 0) * (1 - weight) + Math.max(0, sample) * weight;
}
