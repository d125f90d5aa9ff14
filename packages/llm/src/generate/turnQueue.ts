import { DisposedError } from "@centella/core";
import { BusyError } from "../errors.ts";
import { Semaphore } from "../scheduler/semaphore.ts";
import type { GenerationFinish, GenerationPart } from "./generationParts.ts";

/** Reads a generation to its end and returns its last part. */
export async function finishOf<Value>(parts: AsyncIterable<GenerationPart<Value>>): Promise<GenerationFinish<Value>> {
  let last: GenerationPart<Value> | undefined;
  for await (const part of parts) last = part;
  return last as GenerationFinish<Value>;
}

/** Options of {@link TurnQueue.begin}. */
export interface TurnOptions {
  /** Whether the reader decides when the turn ends. */
  readonly isStream: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Serializes the turns of a session. Only the reader of a stream can end it, so no turn waits for a stream: a loop that requests another turn
 * of its own session would wait forever.
 */
export class TurnQueue {
  readonly #permits: Semaphore;
  /** Number of open or waiting streams. */
  #streams = 0;
  #isClosed = false;

  /** @param maxWaiting turns that may wait */
  constructor(maxWaiting: number) {
    this.#permits = new Semaphore(
      1,
      maxWaiting,
      (load) =>
        new BusyError(
          `session: expected at most ${maxWaiting} turns in the queue, got ${load.waiting} and one more; wait for one to end`,
          load,
        ),
    );
  }

  /**
   * Waits for earlier turns. @returns a function that ends the turn
   * @throws {BusyError | DisposedError}; the signal's reason
   */
  async begin({ isStream, signal }: TurnOptions): Promise<() => void> {
    this.requireOpen();
    if (this.#streams > 0) throw this.#busy("no stream of generate() to be open", "one");
    if (isStream) this.#streams++;
    const end = (): void => {
      if (isStream) this.#streams--;
    };
    try {
      await this.#permits.acquire(signal);
    } catch (error) {
      end();
      throw error;
    }
    return () => {
      end();
      this.#permits.release();
    };
  }

  /** @throws {BusyError} in the middle of a turn; {DisposedError} */
  requireIdle(): void {
    this.requireOpen();
    if (this.#permits.isFull) throw this.#busy("no turn under way", "one");
  }

  /** @throws {DisposedError} */
  requireOpen(): void {
    if (this.#isClosed) throw new DisposedError("session");
  }

  /** Refuses all further turns. @throws {BusyError} in the middle of one */
  close(): void {
    if (this.#isClosed) return;
    this.requireIdle();
    this.#isClosed = true;
  }

  #busy(expected: string, got: string): BusyError {
    const fix = "read it to its end or leave its loop first, or use another session";
    return new BusyError(`session: expected ${expected}, got ${got}; ${fix}`, this.#permits.load);
  }
}
