import { CentellaError } from "@centella/core";
import { reportMs } from "./loadProgress.ts";
import type { SnapshotHolder } from "./snapshot.ts";
import type { ModelWatcher } from "./watchModel.ts";

/** Whether the device or worker that computed is gone. */
export function isLoss(error: unknown): boolean {
  return error instanceof CentellaError && error.code === "deviceLost";
}

/** Writes into a snapshot what the sessions of the loaded model do. */
export class Generations implements ModelWatcher {
  readonly #state: SnapshotHolder;
  readonly #nowMs: () => number;
  /** Number of generations that are not over. */
  #running = 0;
  #isOver = false;
  #tokens = 0;
  #firstMs = 0;
  #reportedMs = 0;

  constructor(state: SnapshotHolder, nowMs: () => number) {
    this.#state = state;
    this.#nowMs = nowMs;
  }

  /** Ends the watching: the model was unloaded or lost. */
  close(): void {
    this.#isOver = true;
  }

  begin(): () => void {
    this.#running++;
    this.#tokens = 0;
    this.#update({ status: "generating", prefill: undefined });
    return () => {
      if (--this.#running === 0) this.#update({ status: "ready", prefill: undefined });
    };
  }

  take(part: Parameters<ModelWatcher["take"]>[0]): void {
    if (part.type === "prefill") this.#update({ prefill: { done: part.done, total: part.total } });
    else if (part.type === "finish") this.#update({ tokensPerSecond: part.timings.decodeTokensPerSecond });
    else this.#count(part.ids.length);
  }

  failed(error: unknown): void {
    if (!isLoss(error)) return;
    this.#update({ status: "lost", prefill: undefined, error });
    this.close();
  }

  /** Counts tokens from the first piece on: what came before them is not decoding. */
  #count(tokens: number): void {
    const nowMs = this.#nowMs();
    if (this.#tokens === 0) [this.#firstMs, this.#reportedMs] = [nowMs, nowMs];
    else if (nowMs - this.#reportedMs >= reportMs) {
      this.#reportedMs = nowMs;
      this.#update({ tokensPerSecond: (1000 * this.#tokens) / (nowMs - this.#firstMs) });
    }
    this.#tokens += tokens;
  }

  #update(changes: Parameters<SnapshotHolder["update"]>[0]): void {
    if (!this.#isOver) this.#state.update(changes);
  }
}
