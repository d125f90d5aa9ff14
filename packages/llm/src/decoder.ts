import { DisposedError, type Plan, ProgramError, type Selection } from "@centella/core";
import { yieldToEventLoop } from "./eventLoop.ts";
import type { Sequence } from "./kvCache.ts";

/** A backend that computes on the caller's thread holds up timers and aborts for this long, or for one batch. */
const maxHoldMs = 8;

/** A plan and where it was compiled. */
export type CompiledPlan = Plan & { readonly selection: Selection };

/** Which of the tokens that are fed give logits. */
export type Rows = "last" | "all";

/** A compiled model: feeds tokens to sequences of its cache and returns logits. Runs of several callers are queued in order. */
export class Decoder {
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly #plan: CompiledPlan;
  readonly #batchSize: number;
  readonly #maxRows: number;
  #yieldedAt = 0;
  #disposed = false;

  constructor(
    plan: CompiledPlan,
    sizes: { readonly contextLength: number; readonly vocabSize: number; readonly batchSize: number; readonly maxRows: number },
  ) {
    this.#plan = plan;
    this.contextLength = sizes.contextLength;
    this.vocabSize = sizes.vocabSize;
    this.#batchSize = sizes.batchSize;
    this.#maxRows = sizes.maxRows;
  }

  /**
   * Appends `ids` to a sequence, in batches, and returns logits `[rows, V]` of the last token or of all. A batch that
   * fails or is aborted leaves the sequence at the batches before it.
   * @throws {DisposedError}
   */
  async feed(sequence: Sequence, ids: readonly number[], rows: Rows, signal?: AbortSignal): Promise<Float32Array> {
    if (sequence.ids.length + ids.length > this.contextLength) {
      throw new ProgramError(`feed: expected at most ${this.contextLength - sequence.ids.length} tokens, got ${ids.length}`);
    }
    const step = rows === "all" ? Math.min(this.#batchSize, this.#maxRows) : this.#batchSize;
    const logits = new Float32Array((rows === "all" ? ids.length : 1) * this.vocabSize);
    for (let start = 0; start < ids.length; start += step) {
      const batch = ids.slice(start, start + step);
      const isLast = start + step >= ids.length;
      const outRows = rows === "all" ? batch.map((_, row) => row) : isLast ? [batch.length - 1] : [];
      const part = await this.#run(sequence, batch, outRows, signal);
      logits.set(part, rows === "all" ? start * this.vocabSize : 0);
    }
    return logits;
  }

  /** Refuses further work, waits for the backend's and frees the plan; weights and cache with it. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#plan.selection.backend.idle();
    this.#plan.dispose();
  }

  async #run(
    sequence: Sequence,
    ids: readonly number[],
    outRows: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    if (performance.now() - this.#yieldedAt > maxHoldMs) {
      await yieldToEventLoop();
      this.#yieldedAt = performance.now();
    }
    signal?.throwIfAborted();
    if (this.#disposed) throw new DisposedError("model");
    const start = sequence.ids.length;
    const positions = Int32Array.from(ids, (_, i) => start + i);
    const inputs = {
      tokens: Int32Array.from(ids),
      positions,
      slots: positions.map((position) => sequence.index * this.contextLength + position),
      seqOf: new Int32Array(ids.length),
      blockTable: Int32Array.of(sequence.index),
      seqLens: Int32Array.of(start + ids.length),
      outRows: Int32Array.from(outRows),
    };
    const dims = { T: ids.length, nOut: outRows.length, nSeq: 1 };
    const { logits } = this.#plan.run(inputs, { dims, ...(signal && { signal }) });
    const values = await logits!.data().finally(() => logits!.dispose());
    signal?.throwIfAborted();
    sequence.ids.push(...ids);
    return values as Float32Array;
  }
}
