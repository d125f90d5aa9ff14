import { type Backend, DeviceLostError, DisposedError, type Plan, ProgramError, type Selection } from "@centella/core";
import type { Sequence } from "../cache/sequence.ts";
import { type BatchLimits, type BatchRows, deliver, nextSlices, type RunningBatch, readRows, submit } from "./batch.ts";
import { yieldToEventLoop } from "./eventLoop.ts";
import { Lookahead } from "./lookahead.ts";
import { countRows, type FeedOptions, type FeedRequest, Request, type TokenChoice } from "./request.ts";
import { type InputLayout, RunInputs, type Slice } from "./runInputs.ts";

/** Milliseconds for which runs of a backend that computes on the caller's thread may delay timers and aborts. One run may take longer. */
const maxHoldMs = 8;

/** Sizes of a model's program and properties of its model. */
export interface SchedulerOptions extends BatchLimits, InputLayout {
  /** Elements of an output row: of logits, or of states. */
  readonly width: number;
  /** Backends that the plan may have parts on. Default: none that could lose its device. */
  readonly backends?: readonly Backend[];
}

/** A plan and where it was compiled. */
export type CompiledPlan = Plan & { readonly selection: Selection };

/**
 * Batches requests into runs of a compiled model. Requests that wait at the same time share runs, single tokens before parts of prompts.
 * On a CPU, a request's results do not depend on the requests that share its runs.
 *
 * While sequences only decode, up to `runsInFlight` runs are queued on the backend, each with the tokens that the run before it chooses.
 */
export class Scheduler {
  readonly contextLength: number;
  readonly vocabSize: number;
  /** Maximum number of tokens that one run can verify: a draft and the token before it. */
  readonly maxVerifiedTokens: number;
  /** Whether layers keep a recurrent state for each sequence, which advances token by token and cannot be rolled back. */
  readonly isRecurrent: boolean;
  /** See {@link SchedulerOptions}. */
  readonly isEncoder: boolean;
  /** Maximum number of tokens of a run. */
  readonly batchSize: number;
  readonly #plan: Plan;
  readonly #backend: Backend;
  readonly #backends: readonly Backend[];
  readonly #options: SchedulerOptions;
  readonly #inputs: RunInputs;
  readonly #lookahead: Lookahead;
  /** Requests with tokens that are in no run yet. */
  #waiting: Request[] = [];
  /** Submitted runs, oldest first. */
  readonly #running: RunningBatch[] = [];
  #sequencesInRun = 1;
  #isSettling = false;
  #isYielding = false;
  /** Requests that the last run finished and whose callers may ask for the next token at once. */
  #returning = 0;
  #yieldedAt = 0;
  #isDisposed = false;

  constructor(plan: Plan, backend: Backend, options: SchedulerOptions) {
    this.#plan = plan;
    this.#backend = backend;
    this.#backends = options.backends ?? [];
    this.#options = options;
    this.#inputs = new RunInputs(options);
    this.#lookahead = new Lookahead(options.runsInFlight, options.contextLength);
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
    const values = new Float32Array(countRows(ids, options) * this.#options.width);
    await this.#compute(sequence, options, () => this.#add({ sequence, ids, options, output: { kind: "values", values } }));
    return values;
  }

  /** Like {@link feed}, but returns only the tokens that the device chooses. The logits stay there. */
  feedChoosing(sequence: Sequence, ids: readonly number[], options: FeedOptions, choice: TokenChoice): Promise<Int32Array> {
    return this.#compute(sequence, options, async () => {
      const isEnded = this.#isDisposed || options.signal?.aborted === true;
      const ahead = isEnded ? undefined : this.#lookahead.take(sequence, ids, choice);
      if (ahead?.output.kind === "tokens") {
        await this.#adopt(ahead);
        return ahead.output.tokens;
      }
      const tokens = new Int32Array(countRows(ids, options));
      await this.#add({ sequence, ids, options, output: { kind: "tokens", tokens, choice } });
      return tokens;
    });
  }

  /** Number of times that a lost device was opened again. The cache from before is gone. */
  get recoveries(): number {
    return this.#backends.reduce((sum, { recoveries = 0 }) => sum + recoveries, 0);
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

  /** Number of sequences that shared the last run. */
  get sequencesInRun(): number {
    return this.#sequencesInRun;
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

  /** Does `work` on a sequence that is not parked. If that loses the device, the device is opened again, and the work is done again once. */
  async #compute<T>(sequence: Sequence, { signal, isDraft }: FeedOptions, work: () => Promise<T>): Promise<T> {
    sequence.checkCache();
    if (sequence.isParked) await this.unpark(sequence, signal);
    const { length } = sequence.ids;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DeviceLostError) || !(await this.#recover(error))) throw error;
    }
    sequence.checkCache();
    sequence.restart(sequence.ids.slice(0, length));
    await this.unpark(sequence, signal);
    if (isDraft) sequence.beginDraft();
    return work();
  }

  /** Opens lost devices again. False if there is none that can be. @throws `loss` if one cannot be opened, with the cause */
  async #recover(loss: DeviceLostError): Promise<boolean> {
    try {
      const recovered = await Promise.all(this.#backends.map((backend) => backend.recover?.()));
      return recovered.some((each) => each !== undefined);
    } catch (cause) {
      throw Object.assign(loss, { cause });
    }
  }

  #add(feed: FeedRequest): Promise<void> {
    const { sequence, ids, options } = feed;
    if (sequence.ids.length + ids.length > this.contextLength) {
      const room = this.contextLength - sequence.ids.length;
      throw new ProgramError(
        `feed: expected at most ${room} tokens, got ${ids.length}; shorten the text, or load the model with a greater contextLength`,
      );
    }
    if (ids.length === 0) return Promise.resolve();
    this.#lookahead.drop(sequence);
    const request = new Request(feed, sequence.ids.length, options.following ?? 0);
    this.#waiting.push(request);
    return this.#wait(request);
  }

  /** Gives a request that was made ahead to its caller. */
  #adopt(request: Request): Promise<void> {
    if (request.done < request.length) return this.#wait(request);
    request.sequence.append(request.ids);
    this.#continue(request);
    return Promise.resolve();
  }

  /** Waits until a caller's request is computed. An abort rejects it at once unless a run computes it. */
  #wait(request: Request): Promise<void> {
    const { signal } = request.options;
    const completed = new Promise<void>((resolve, reject) => {
      request.completion = { resolve, reject };
      this.#continue(request);
    });
    if (signal === undefined) return completed;
    const abort = (): void => this.#removeEnded();
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    return completed.finally(() => signal.removeEventListener("abort", abort));
  }

  /** Makes the requests that follow one of a caller, and goes on. */
  #continue(request: Request): void {
    const next = this.#lookahead.extend(request);
    if (next !== undefined) this.#waiting.push(next);
    if (this.#returning > 0) this.#returning--;
    this.#pump();
  }

  /** Submits runs while requests wait and there is room for another run. */
  #pump(): void {
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      // The callers of the last run's requests come back with their next tokens, so that these share a run again.
      if (this.#returning > 0 || performance.now() - this.#yieldedAt > maxHoldMs) {
        if (!this.#isYielding) void this.#yield();
        return;
      }
      this.#removeEnded();
      const slices = nextSlices(this.#waiting, this.#options);
      if (slices.length === 0) return;
      this.#submit(slices);
    }
  }

  /** Whether another run may be queued: behind runs that are not over only one that continues all sequences of the last of them. */
  #hasRoom(): boolean {
    const last = this.#running.at(-1);
    if (last === undefined) return true;
    return (
      this.#running.length < this.#options.runsInFlight &&
      last.slices.every(({ request }) => request.isDropped || (request.isSubmitted && request.next !== undefined))
    );
  }

  /** Continues after a turn of the event loop, for timers, messages and aborts. */
  async #yield(): Promise<void> {
    this.#isYielding = true;
    await yieldToEventLoop();
    this.#isYielding = false;
    this.#returning = 0;
    this.#yieldedAt = performance.now();
    this.#pump();
  }

  /** Removes requests that were dropped, and rejects those that were aborted, or all of them once the scheduler is disposed of. */
  #removeEnded(): void {
    const isEnded = (request: Request): boolean => request.isDropped || this.#isDisposed || request.options.signal?.aborted === true;
    if (!this.#waiting.some(isEnded)) return;
    const ended = this.#waiting.filter(isEnded);
    this.#waiting = this.#waiting.filter((request) => !isEnded(request));
    for (const request of ended) this.#reject(request, this.#endOf(request));
  }

  #endOf({ options: { signal } }: Request): unknown {
    if (this.#isDisposed) return new DisposedError("model");
    // A request that a caller waits for is dropped if its sequence lost its cache.
    return signal?.aborted ? signal.reason : new DeviceLostError("model", "it was opened again");
  }

  #submit(slices: readonly Slice[]): void {
    try {
      this.#running.push(submit(this.#plan, slices, this.#inputs));
      this.#sequencesInRun = slices.length;
    } catch (error) {
      this.#fail(slices, error);
    }
    this.#waiting = this.#waiting.filter((request) => !slices.some((slice) => slice.request === request));
    for (const { request } of slices) if (request.isSubmitted && request.next !== undefined) this.#waiting.push(request.next);
    if (!this.#isSettling && this.#running.length > 0) void this.#settle();
  }

  /** Waits for the submitted runs, one after the other. */
  async #settle(): Promise<void> {
    this.#isSettling = true;
    for (let run = this.#running[0]; run !== undefined; run = this.#running[0]) {
      try {
        const rows = await readRows(run, this.#options.output).finally(() => this.#running.shift());
        this.#complete(run.slices, rows);
      } catch (error) {
        this.#fail(run.slices, error);
      }
      this.#pump();
    }
    this.#isSettling = false;
  }

  /** Hands out the rows of a run, and appends its tokens to the sequences of requests that were not aborted in the meantime. */
  #complete(slices: readonly Slice[], rows: BatchRows): void {
    deliver(slices, rows, this.#options.width);
    this.#returning = 0;
    for (const { request, count } of slices) {
      const { sequence, ids, options, completion } = request;
      if (completion !== undefined && options.signal?.aborted) {
        this.#reject(request, options.signal.reason);
        continue;
      }
      if (completion !== undefined && !options.isDraft) sequence.append(ids.slice(request.done, request.done + count));
      request.done += count;
      if (request.done < request.length) this.#waiting.push(request);
      else this.#finish(request);
    }
  }

  #finish({ output, next, completion }: Request): void {
    if (next !== undefined && output.kind === "tokens") next.ids = [...output.tokens];
    if (completion === undefined) return;
    this.#returning++;
    completion.resolve();
  }

  #fail(slices: readonly Slice[], error: unknown): void {
    this.#returning = 0;
    for (const { request } of slices) {
      const { signal } = request.options;
      this.#reject(request, signal?.aborted ? signal.reason : error);
    }
  }

  /** Ends a request with an error. What was made ahead after it is dropped, and so is the request itself if no caller waits for it. */
  #reject(request: Request, error: unknown): void {
    request.drop();
    if (request.completion === undefined) return;
    this.#returning++;
    request.completion.reject(error);
  }
}
