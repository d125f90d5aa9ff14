import { type Backend, DeviceLostError, DisposedError, type Plan, type Selection } from "@centella/core";
import { type BatchLimits, type BatchRows, deliver, nextSlices, type RunnablePlan } from "./batch.ts";
import { countRecoveries, recoverDevices } from "./deviceRecovery.ts";
import { yieldToEventLoop } from "./eventLoop.ts";
import { Lookahead } from "./lookahead.ts";
import {
  countRows,
  endOf,
  type FeedOptions,
  type FeedRequest,
  Request,
  type RunSequence,
  requireRoom,
  type TokenChoice,
} from "./request.ts";
import type { Slice } from "./runInputs.ts";
import { RunQueue, type RunQueueOptions } from "./runQueue.ts";

/** Milliseconds for which runs of a backend that computes on the caller's thread may delay timers and aborts. One run may take longer. */
const maxHoldMs = 8;

/** Sizes of a model's program and properties of its model. */
export interface SchedulerOptions extends BatchLimits, RunQueueOptions {
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
 * While sequences only decode, up to `runsInFlight` runs are queued on the backend, each with the tokens that the run before it chooses. Under
 * a mask, the next token is computed ahead too, and only the choice of the token after it waits for the mask.
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
  readonly #backend: Pick<Backend, "idle">;
  readonly #backends: readonly Backend[];
  readonly #options: SchedulerOptions;
  readonly #runs: RunQueue;
  readonly #lookahead: Lookahead;
  /** Requests with tokens that are in no run yet. */
  #waiting: Request[] = [];
  /** Requests whose logits are kept on the device, and whose masks have come. */
  #choosable: Request[] = [];
  #sequencesInRun = 1;
  #isYielding = false;
  /** Requests that the last run finished and whose callers may ask for the next token at once. */
  #returning = 0;
  /** When the event loop ran last, as far as the scheduler knows. */
  #turnedAt = 0;
  /** Settles when the event loop runs next; undefined if it has run since the last run was submitted. */
  #turn: Promise<void> | undefined;
  #isDisposed = false;

  constructor(plan: RunnablePlan, backend: Pick<Backend, "idle">, options: SchedulerOptions) {
    this.#backend = backend;
    this.#backends = options.backends ?? [];
    this.#options = options;
    this.#runs = new RunQueue(plan, options, {
      completed: (slices, rows) => this.#complete(slices, rows),
      failed: (slices, error) => this.#fail(slices, error),
      ended: () => this.#pump(),
    });
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
  async feed(sequence: RunSequence, ids: readonly number[], options: FeedOptions): Promise<Float32Array> {
    const values = new Float32Array(countRows(ids, options) * this.#options.width);
    await this.#compute(sequence, options, () => this.#add({ sequence, ids, options, output: { kind: "values", values } }));
    return values;
  }

  /** Like {@link feed}, but returns only the tokens that the device chooses. The logits stay there. */
  feedChoosing(sequence: RunSequence, ids: readonly number[], options: FeedOptions, choice: TokenChoice): Promise<Int32Array> {
    return this.#compute(sequence, options, async () => {
      if (choice.masks !== undefined && options.following) {
        await this.#runs.openDeferred();
        this.#lookahead.canDefer = this.#runs.keepingSize > 0;
      }
      const tokens = new Int32Array(countRows(ids, options));
      const isEnded = this.#isDisposed || options.signal?.aborted === true;
      const ahead = isEnded ? undefined : this.#lookahead.take(sequence, ids, choice);
      if (ahead?.output.kind === "tokens") {
        await (ids.length > 1 ? this.#adoptDraft(ahead, { sequence, ids, options }, choice, tokens) : this.#adopt(ahead, choice));
        tokens.set(ahead.output.tokens);
      } else await this.#add({ sequence, ids, options, output: { kind: "tokens", tokens, choice } });
      return tokens;
    });
  }

  /** Number of times that a lost device was opened again. The cache from before is gone. */
  get recoveries(): number {
    return countRecoveries(this.#backends);
  }

  /**
   * Reactivates a parked sequence: waits in the queue and computes its evicted tokens again.
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(sequence: RunSequence, signal: AbortSignal | undefined): Promise<void> {
    if (!sequence.isParked) return;
    const ids = await sequence.unpark(signal);
    await this.#add({ sequence, ids, options: { rows: "none", signal }, output: { kind: "values", values: new Float32Array(0) } });
  }

  /** Elements of an output row. */
  get width(): number {
    return this.#options.width;
  }

  /** Announces requests that the caller is about to make, so that they share runs. */
  expect(count: number): void {
    this.#returning = Math.max(this.#returning, count);
  }

  /** Number of sequences that shared the last run. */
  get sequencesInRun(): number {
    return this.#sequencesInRun;
  }

  /** Whether tokens under masks are computed ahead; see {@link DeferredChoices}. */
  get defersChoices(): boolean {
    return this.#lookahead.canDefer;
  }

  /** Refuses further work. Requests that have not started reject with a `DisposedError`. */
  refuse(): void {
    this.#isDisposed = true;
  }

  /** Refuses further work, waits until the backend is idle, and frees the plan with its weights and cache. */
  async dispose(): Promise<void> {
    this.refuse();
    await this.#backend.idle();
    this.#runs.dispose();
  }

  /** Does `work` on a sequence that is not parked. If that loses the device, the device is opened again, and the work is done again once. */
  async #compute<T>(sequence: RunSequence, { signal, isDraft }: FeedOptions, work: () => Promise<T>): Promise<T> {
    sequence.checkCache();
    if (sequence.isParked) await this.unpark(sequence, signal);
    const { length } = sequence.ids;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DeviceLostError) || !(await recoverDevices(this.#backends, error))) throw error;
    }
    sequence.checkCache();
    sequence.restart(sequence.ids.slice(0, length));
    await this.unpark(sequence, signal);
    if (isDraft) sequence.beginDraft();
    return work();
  }

  #add(feed: FeedRequest): Promise<void> {
    const { sequence, ids, options } = feed;
    requireRoom(feed, this.contextLength);
    if (ids.length === 0) return Promise.resolve();
    this.#lookahead.drop(sequence);
    const request = new Request(feed, sequence.ids.length, options.following ?? 0);
    this.#waiting.push(request);
    return this.#wait(request);
  }

  /** Gives a request that was made ahead to its caller, who knows the mask of its choice. */
  #adopt(request: Request, choice: TokenChoice): Promise<void> {
    // Nothing has waited for the caller of a request whose choice is decided.
    if (choice.masks !== undefined && !request.isDeferred) this.#returning++;
    this.#decide(request, choice);
    if (request.done < request.length) return this.#wait(request);
    if (!request.options.isDraft) request.sequence.append(request.ids);
    this.#chooseNext(request);
    this.#continue(request);
    return Promise.resolve();
  }

  /** Sets how the token after a request is chosen, which is due if the choice was deferred. */
  #decide(request: Request, choice: TokenChoice): void {
    if (request.output.kind !== "tokens") return;
    request.output.choice = choice;
    if (!request.isDeferred) return;
    request.isDeferred = false;
    if (request.keptRow !== undefined) this.#choosable.push(request);
  }

  /** Chooses the token after the next one, if the caller of a request has said under which mask. Returns whether it has. */
  #chooseNext({ output, next }: Request): boolean {
    if (output.kind !== "tokens" || next?.output.kind !== "tokens" || !next.isDeferred || next.isDropped) return false;
    try {
      const mask = output.choice.maskAfter?.(output.tokens[0]!);
      if (mask !== undefined) this.#decide(next, { ...next.output.choice, masks: [mask] });
      return mask !== undefined;
    } catch {
      // The caller has the same error when it goes on itself.
      return false;
    }
  }

  /** Gives a request that was made ahead to a caller with a draft, whose first token it computes. The others follow in the next run. */
  async #adoptDraft(
    first: Request,
    { sequence, ids, options }: Omit<FeedRequest, "output">,
    choice: TokenChoice,
    tokens: Int32Array,
  ): Promise<void> {
    const rest = { ...choice, position: choice.position + 1, masks: choice.masks?.slice(1) };
    const output = { kind: "tokens", tokens: tokens.subarray(1), choice: rest } as const;
    const request = new Request({ sequence, ids: ids.slice(1), options, output }, first.end, options.following ?? 0);
    first.options = options;
    first.following = 0;
    first.next?.drop();
    first.next = request;
    if (first.isSubmitted) this.#waiting.push(request);
    await Promise.all([this.#adopt(first, choice), this.#wait(request)]);
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
    this.#lookAhead(request);
    if (this.#returning > 0) this.#returning--;
    this.#pump();
  }

  #lookAhead(request: Request): void {
    const next = this.#lookahead.extend(request);
    if (next !== undefined) this.#waiting.push(next);
  }

  /** Submits runs while requests wait and there is room for another run. */
  #pump(): void {
    while (this.#canChoose() || (this.#waiting.length > 0 && this.#runs.hasRoom(this.#choosable.length > 0))) {
      // The callers of the last run's requests come back with their next tokens, so that these share a run again.
      if (this.#returning > 0 || performance.now() - this.#turnedAt > maxHoldMs) {
        if (!this.#isYielding) void this.#yield();
        return;
      }
      this.#removeEnded();
      const slices = this.#canChoose() ? this.#takeChoosable() : nextSlices(this.#waiting, this.#options, this.#runs.keepingSize);
      if (slices.length === 0) return;
      this.#submit(slices);
    }
  }

  #canChoose(): boolean {
    return this.#choosable.length > 0 && this.#runs.mayChoose;
  }

  #takeChoosable(): readonly Slice[] {
    return this.#choosable.splice(0).map((request) => ({ request, count: 1, rows: 1 }));
  }

  /** Continues after a turn of the event loop, for timers, messages and aborts. */
  async #yield(): Promise<void> {
    this.#isYielding = true;
    await this.#nextTurn();
    this.#isYielding = false;
    this.#returning = 0;
    this.#pump();
  }

  /** Waits until the event loop has run. */
  #nextTurn(): Promise<void> {
    this.#turn ??= yieldToEventLoop().then(() => {
      this.#turn = undefined;
      this.#turnedAt = performance.now();
    });
    return this.#turn;
  }

  /** Removes requests that were dropped, and rejects those that were aborted, or all of them once the scheduler is disposed of. */
  #removeEnded(): void {
    const isEnded = (request: Request): boolean => request.isDropped || this.#isDisposed || request.options.signal?.aborted === true;
    const ended = [...this.#waiting, ...this.#choosable].filter(isEnded);
    if (ended.length === 0) return;
    this.#waiting = this.#waiting.filter((request) => !isEnded(request));
    this.#choosable = this.#choosable.filter((request) => !isEnded(request));
    for (const request of ended) this.#reject(request, () => this.#endOf(request));
  }

  #endOf(request: Request): unknown {
    return this.#isDisposed ? new DisposedError("model") : endOf(request);
  }

  #submit(slices: readonly Slice[]): void {
    try {
      const run = this.#runs.submit(slices);
      for (const { request, count } of run.slices) request.isSubmitted = request.done + count === request.length;
      if (run.kind === "model") this.#sequencesInRun = slices.length;
    } catch (error) {
      this.#fail(slices, error);
    }
    this.#waiting = this.#waiting.filter((request) => !slices.some((slice) => slice.request === request));
    for (const { request } of slices) if (request.isSubmitted && request.next !== undefined) this.#waiting.push(request.next);
    void this.#nextTurn();
    void this.#runs.settle();
  }

  /** Hands out the rows of a run, and appends its tokens to the sequences of requests that were not aborted in the meantime. */
  #complete(slices: readonly Slice[], rows: BatchRows): void {
    if (slices.length === 0) return;
    // The event loop did not wait for a backend that computes on another thread.
    if (this.#turn === undefined) this.#turnedAt = performance.now();
    deliver(slices, rows, this.#options.width);
    this.#returning = 0;
    for (const { request, count } of slices) {
      const { sequence, ids, options, completion } = request;
      if (completion !== undefined && (options.signal?.aborted || request.isDropped)) {
        this.#reject(request, () => this.#endOf(request));
        continue;
      }
      if (completion !== undefined && !options.isDraft) sequence.append(ids.slice(request.done, request.done + count));
      request.done += count;
      if (request.done < request.length) this.#waiting.push(request);
      else this.#finish(request);
    }
  }

  #finish(request: Request): void {
    const { output, next, completion } = request;
    if (next?.ids.length === 0 && output.kind === "tokens") next.ids = [...output.tokens.subarray(-1)];
    if (completion === undefined) return;
    if (this.#chooseNext(request)) this.#lookAhead(request);
    else this.#returning++;
    completion.resolve();
  }

  #fail(slices: readonly Slice[], error: unknown): void {
    this.#returning = 0;
    for (const { request } of slices) {
      const { signal } = request.options;
      this.#reject(request, () => (signal?.aborted ? signal.reason : error));
    }
  }

  /** Ends a request with an error. What was made ahead after it is dropped, and so is the request itself if no caller waits for it. */
  #reject(request: Request, errorOf: () => unknown): void {
    request.drop();
    if (request.completion === undefined) return;
    this.#returning++;
    request.completion.reject(errorOf());
  }
}
