import { type Backend, DisposedError, type Plan, ProgramError, type Selection } from "@centella/core";
import { blocksOf } from "../cache/prefixCache.ts";
import type { Sequence } from "../cache/sequence.ts";
import { type BatchLayout, type BatchLimits, type BatchRows, deliver, nextSlices, readRows, type Slice, submit } from "./batch.ts";
import { yieldToEventLoop } from "./eventLoop.ts";
import { countRows, type FeedOptions, type FeedRequest, type GreedyTokens, type Request } from "./request.ts";

/** Milliseconds for which runs of a backend that computes on the caller's thread may delay timers and aborts. One run may take longer. */
const maxHoldMs = 8;

/** Sizes of a model's program and properties of its model. */
export interface SchedulerOptions extends BatchLimits {
  readonly contextLength: number;
  readonly vocabSize: number;
  /** What the program outputs, as rows of `width` elements: logits of the rows that are read and the most likely tokens of all, or states. */
  readonly output: "logits" | "states";
  readonly width: number;
  /** Whether layers keep a recurrent state for each sequence, which advances token by token and cannot be rolled back. */
  readonly isRecurrent: boolean;
}

/** A plan and where it was compiled. */
export type CompiledPlan = Plan & { readonly selection: Selection };

/**
 * Batches requests into runs of a compiled model. Requests that wait at the same time share runs, single tokens before parts of prompts.
 * On a CPU, a request's results do not depend on the requests that share its runs.
 */
export class Scheduler {
  readonly contextLength: number;
  readonly vocabSize: number;
  /** Maximum number of tokens that one run can verify: a draft and the token before it. */
  readonly maxVerifiedTokens: number;
  /** See {@link SchedulerOptions}. */
  readonly isRecurrent: boolean;
  /** See {@link SchedulerOptions}. */
  readonly isEncoder: boolean;
  /** Maximum number of tokens of a run. */
  readonly batchSize: number;
  readonly #plan: Plan;
  readonly #backend: Backend;
  readonly #limits: BatchLimits;
  readonly #layout: BatchLayout;
  readonly #width: number;
  #requests: Request[] = [];
  #isRunning = false;
  /** Requests that the last run finished. Their callers may ask for the next token at once. */
  #finished = 0;
  #yieldedAt = 0;
  #isDisposed = false;

  constructor(plan: Plan, backend: Backend, options: SchedulerOptions) {
    this.#plan = plan;
    this.#backend = backend;
    this.#limits = options;
    this.#layout = { maxBlocks: blocksOf(options.contextLength), isRecurrent: options.isRecurrent, output: options.output };
    this.#width = options.width;
    this.contextLength = options.contextLength;
    this.vocabSize = options.vocabSize;
    this.isRecurrent = options.isRecurrent;
    this.isEncoder = options.isEncoder;
    this.maxVerifiedTokens = options.maxRows;
    this.batchSize = options.batchSize;
  }

  /**
   * Appends `ids` to a sequence, in as many runs as needed. Returns the output rows `[rows, width]`: logits, or hidden states. If a run
   * fails or is aborted, the sequence keeps the tokens of the runs before it. A parked sequence first waits in the queue.
   * @throws {DisposedError | ProgramError}; the signal's reason
   */
  async feed(sequence: Sequence, ids: readonly number[], options: FeedOptions): Promise<Float32Array> {
    await this.unpark(sequence, options.signal);
    const values = new Float32Array(countRows(ids, options) * this.#width);
    await this.#add({ sequence, ids, options, output: { kind: "values", values } });
    return values;
  }

  /** Like {@link feed}, but returns only the most likely tokens. The logits stay on the device. */
  async feedGreedy(sequence: Sequence, ids: readonly number[], options: FeedOptions): Promise<GreedyTokens> {
    await this.unpark(sequence, options.signal);
    const rows = countRows(ids, options);
    const greedy = { ids: new Int32Array(rows), logits: new Float32Array(rows) };
    await this.#add({ sequence, ids, options, output: { kind: "greedy", greedy } });
    return greedy;
  }

  /**
   * Reactivates a parked sequence: waits in the queue and computes its evicted tokens again.
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(sequence: Sequence, signal: AbortSignal | undefined): Promise<void> {
    if (!sequence.isParked) return;
    const ids = await sequence.unpark(signal);
    await this.#add({ sequence, ids, options: { rows: "none", signal }, output: { kind: "values", values: new Float32Array(0) } });
  }

  /** Refuses further work. Requests that have not started reject with a `DisposedError`. */
  refuse(): void {
    this.#isDisposed = true;
  }

  /** Refuses further work, waits until the backend is idle, and frees the plan with its weights and cache. */
  async dispose(): Promise<void> {
    this.refuse();
    await this.#backend.idle();
    this.#plan.dispose();
  }

  #add(request: FeedRequest): Promise<void> {
    const { sequence, ids } = request;
    if (sequence.ids.length + ids.length > this.contextLength) {
      throw new ProgramError(`feed: expected at most ${this.contextLength - sequence.ids.length} tokens, got ${ids.length}`);
    }
    if (ids.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#requests.push({ ...request, completion: { resolve, reject }, done: 0, skipped: 0 });
      if (!this.#isRunning) void this.#loop();
    });
  }

  async #loop(): Promise<void> {
    this.#isRunning = true;
    while (this.#requests.length > 0) {
      // Requests that the last run finished come back with their next tokens, so that these share a run again.
      if (performance.now() - this.#yieldedAt > maxHoldMs || this.#finished > this.#requests.length) {
        await yieldToEventLoop();
        this.#yieldedAt = performance.now();
      }
      this.#rejectEnded();
      const slices = nextSlices(this.#requests, this.#limits);
      this.#finished = 0;
      if (slices.length > 0) await this.#run(slices);
    }
    this.#isRunning = false;
  }

  /** Rejects requests that were aborted, or all of them once the scheduler is disposed of. */
  #rejectEnded(): void {
    const isEnded = ({ options }: Request): boolean => this.#isDisposed || options.signal?.aborted === true;
    const ended = this.#requests.filter(isEnded);
    this.#requests = this.#requests.filter((request) => !isEnded(request));
    for (const { completion, options } of ended) {
      completion.reject(this.#isDisposed ? new DisposedError("model") : options.signal?.reason);
    }
  }

  async #run(slices: readonly Slice[]): Promise<void> {
    try {
      this.#complete(slices, await readRows(submit(this.#plan, slices, this.#layout), this.#layout));
    } catch (error) {
      for (const { request } of slices) {
        const { signal } = request.options;
        this.#end(request).reject(signal?.aborted ? signal.reason : error);
      }
    }
  }

  /** Hands out the rows of a run, and appends its tokens to the sequences of requests that were not aborted in the meantime. */
  #complete(slices: readonly Slice[], rows: BatchRows): void {
    deliver(slices, rows, this.#width);
    for (const { request, count } of slices) {
      const { sequence, ids, options } = request;
      if (options.signal?.aborted) {
        this.#end(request).reject(options.signal.reason);
        continue;
      }
      if (!options.isDraft) sequence.append(ids.slice(request.done, request.done + count));
      request.done += count;
      options.onProgress?.(request.done);
      if (request.done === ids.length) this.#end(request).resolve();
    }
  }

  /** Removes a request from the queue. Returns its promise, to be settled by the caller. */
  #end(request: Request): Request["completion"] {
    this.#requests = this.#requests.filter((queued) => queued !== request);
    this.#finished++;
    return request.completion;
  }
}
