import { type Backend, DisposedError, type Plan, ProgramError, type Selection } from "@centella/core";
import { blocksOf } from "../cache/prefixCache.ts";
import type { Sequence } from "../cache/sequence.ts";
import { yieldToEventLoop } from "./eventLoop.ts";

/** A backend that computes on the caller's thread holds up timers and aborts for this long, or for one batch. */
const maxHoldMs = 8;

/** Sizes of a decoder and of the rows that come out of it. */
export interface SchedulerOptions {
  readonly contextLength: number;
  readonly vocabSize: number;
  readonly batchSize: number;
  readonly maxRows: number;
  /** What the plan puts out, rows of `width`. Logits only of the rows that are asked for, and what is chosen by them of all. */
  readonly output: "logits" | "states";
  readonly width: number;
  /** Whether tokens see those after them, so that a text has to be computed in one run. */
  readonly isEncoder: boolean;
}

/** A plan and where it was compiled. */
export type CompiledPlan = Plan & { readonly selection: Selection };

/** Which of the tokens that are fed give logits. */
export type LogitRows = "none" | "last" | "all";

/** The most likely token after each row, the first of equals, and its logit: NaN if any of the row's is, for the first such token. */
export interface GreedyTokens {
  readonly ids: Int32Array;
  readonly logits: Float32Array;
}

/** How tokens are fed. */
export interface FeedOptions {
  readonly rows: LogitRows;
  /** Only look: the sequence does not keep the tokens, unless they are appended to it afterwards. They must fit into one run. */
  readonly isDraft?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called with the tokens done so far, after each run. */
  readonly onProgress?: (done: number) => void;
}

/** Tokens that wait to be computed, or are in part. */
interface Request {
  readonly sequence: Sequence;
  readonly ids: readonly number[];
  readonly options: FeedOptions;
  /** What becomes of the rows: one of the two. */
  readonly values: Float32Array | undefined;
  readonly greedy: GreedyTokens | undefined;
  readonly completion: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
  done: number;
  /** Runs that had no room for it. */
  waited: number;
}

/** What a run computes of a request: `count` tokens, of which the last `rows` give logits. */
interface Slice {
  readonly request: Request;
  readonly count: number;
  readonly rows: number;
}

/**
 * A compiled model: feeds tokens to sequences of its cache and returns logits. What several callers want at the same time is
 * computed together, single tokens before parts of prompts; nobody's logits depend on the company on a CPU.
 */
export class Scheduler {
  readonly contextLength: number;
  readonly vocabSize: number;
  /** Tokens that a probe can have, at most. */
  readonly maxVerifiedTokens: number;
  /** Whether layers keep a state of each sequence, which goes on token by token and cannot be taken back. */
  readonly isRecurrent: boolean;
  /** See {@link SchedulerOptions}. */
  readonly isEncoder: boolean;
  readonly #plan: Plan;
  readonly #backend: Backend;
  readonly #output: SchedulerOptions["output"];
  readonly #width: number;
  /** Tokens of a run, at most. */
  readonly batchSize: number;
  readonly #maxRows: number;
  readonly #maxBlocks: number;
  #requests: Request[] = [];
  #isRunning = false;
  /** Requests that the run before finished: their callers may come back at once. */
  #finished = 0;
  #yieldedAt = 0;
  #disposed = false;

  constructor(plan: Plan, backend: Backend, sizes: SchedulerOptions) {
    this.#plan = plan;
    this.#backend = backend;
    this.#output = sizes.output;
    this.#width = sizes.width;
    this.contextLength = sizes.contextLength;
    this.vocabSize = sizes.vocabSize;
    this.isEncoder = sizes.isEncoder;
    this.isRecurrent = plan.program.inputs.has("stateRows");
    this.maxVerifiedTokens = sizes.maxRows;
    this.batchSize = sizes.batchSize;
    this.#maxRows = sizes.maxRows;
    this.#maxBlocks = blocksOf(sizes.contextLength);
  }

  /**
   * Appends `ids` to a sequence, in as many runs as it takes. Returns logits `[rows, V]` (or what else the plan puts out) of the last token,
   * of all or of none. A run that fails or is aborted leaves the sequence at the runs before it. A parked sequence first waits its turn.
   * @throws {DisposedError}
   */
  async feed(sequence: Sequence, ids: readonly number[], options: FeedOptions): Promise<Float32Array> {
    await this.unpark(sequence, options.signal);
    const values = new Float32Array(rowsOf(ids, options) * this.#width);
    await this.#add({ sequence, ids, options, values, greedy: undefined });
    return values;
  }

  /** {@link feed}, for those who want to know the most likely tokens alone: the logits stay where they are. */
  async feedGreedy(sequence: Sequence, ids: readonly number[], options: FeedOptions): Promise<GreedyTokens> {
    await this.unpark(sequence, options.signal);
    const rows = rowsOf(ids, options);
    const greedy = { ids: new Int32Array(rows), logits: new Float32Array(rows) };
    await this.#add({ sequence, ids, options, values: undefined, greedy });
    return greedy;
  }

  /**
   * Reactivates a parked sequence: waits in the queue and computes its evicted tokens again.
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(sequence: Sequence, signal: AbortSignal | undefined): Promise<void> {
    if (!sequence.isParked) return;
    const ids = await sequence.unpark(signal);
    await this.#add({ sequence, ids, options: { rows: "none", signal }, values: new Float32Array(0), greedy: undefined });
  }

  #add(request: Pick<Request, "sequence" | "ids" | "options" | "values" | "greedy">): Promise<void> {
    const { sequence, ids } = request;
    if (sequence.ids.length + ids.length > this.contextLength) {
      throw new ProgramError(`feed: expected at most ${this.contextLength - sequence.ids.length} tokens, got ${ids.length}`);
    }
    if (ids.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#requests.push({ ...request, completion: { resolve, reject }, done: 0, waited: 0 });
      if (!this.#isRunning) void this.#loop();
    });
  }

  /** Refuses further work. Requests that have not started reject with a `DisposedError`. */
  refuse(): void {
    this.#disposed = true;
  }

  /** Refuses further work, waits for the backend's and frees the plan; weights and cache with it. */
  async dispose(): Promise<void> {
    this.refuse();
    await this.#backend.idle();
    this.#plan.dispose();
  }

  async #loop(): Promise<void> {
    this.#isRunning = true;
    while (this.#requests.length > 0) {
      // Those whose token was computed together should find each other again in the next run.
      if (performance.now() - this.#yieldedAt > maxHoldMs || this.#finished > this.#requests.length) {
        await yieldToEventLoop();
        this.#yieldedAt = performance.now();
      }
      const [refused, willing] = partition(this.#requests, ({ options }) => this.#disposed || options.signal?.aborted === true);
      this.#requests = willing;
      for (const { completion, options } of refused)
        completion.reject(this.#disposed ? new DisposedError("model") : options.signal!.reason);
      const slices = this.#nextSlices();
      this.#finished = 0;
      if (slices.length > 0) await this.#run(slices);
    }
    this.#isRunning = false;
  }

  /** What the next run computes: those that had no room before, then the shortest. */
  #nextSlices(): readonly Slice[] {
    const slices: Slice[] = [];
    let [tokens, rows] = [this.batchSize, this.#maxRows];
    const left = ({ ids, done }: Request): number => ids.length - done;
    for (const request of this.#requests.toSorted((a, b) => b.waited - a.waited || left(a) - left(b))) {
      const wanted = request.options.rows;
      const count = Math.min(left(request), tokens, wanted === "all" ? rows : tokens);
      const isLast = count === left(request);
      const taken = wanted === "all" ? count : wanted === "last" && isLast ? 1 : 0;
      if (count === 0 || taken > rows || ((request.options.isDraft || this.isEncoder) && !isLast)) {
        request.waited++;
        continue;
      }
      request.waited = 0;
      slices.push({ request, count, rows: taken });
      tokens -= count;
      rows -= taken;
    }
    return slices;
  }

  async #run(slices: readonly Slice[]): Promise<void> {
    try {
      const { values, greedy } = await this.#compute(slices);
      let [row, read] = [0, 0];
      for (const { request, count, rows } of slices) {
        const { sequence, ids, options } = request;
        const from = options.rows === "all" ? request.done : 0;
        if (request.values !== undefined) {
          request.values.set(values.subarray(read * this.#width, (read + rows) * this.#width), from * this.#width);
          read += rows;
        } else if (rows > 0) {
          request.greedy!.ids.set(greedy!.ids.subarray(row, row + rows), from);
          request.greedy!.logits.set(greedy!.logits.subarray(row, row + rows), from);
        }
        row += rows;
        if (options.signal?.aborted) {
          this.#end(request).reject(options.signal.reason);
          continue;
        }
        if (!options.isDraft) sequence.append(ids.slice(request.done, request.done + count));
        request.done += count;
        options.onProgress?.(request.done);
        if (request.done === ids.length) this.#end(request).resolve();
      }
    } catch (error) {
      for (const { request } of slices) this.#end(request).reject(request.options.signal?.aborted ? request.options.signal.reason : error);
    }
  }

  #end(request: Request): Request["completion"] {
    this.#requests = this.#requests.filter((other) => other !== request);
    this.#finished++;
    return request.completion;
  }

  /** What is asked for of the rows of all slices, one after the other. */
  async #compute(slices: readonly Slice[]): Promise<{ readonly values: Float32Array; readonly greedy: GreedyTokens | undefined }> {
    const T = sum(slices, ({ count }) => count);
    const nOut = sum(slices, ({ rows }) => rows);
    const nRead = sum(slices, ({ request, rows }) => (request.values === undefined ? 0 : rows));
    const hasLogits = this.#output === "logits";
    const inputs = {
      tokens: new Int32Array(T),
      positions: new Int32Array(T),
      slots: new Int32Array(T),
      seqOf: new Int32Array(T),
      blockTable: new Int32Array(slices.length * this.#maxBlocks),
      seqLens: new Int32Array(slices.length),
      outRows: new Int32Array(nOut),
      ...(this.isRecurrent && { stateRows: new Int32Array(T) }),
      ...(hasLogits && { readRows: new Int32Array(nRead) }),
    };
    let [token, row, read] = [0, 0, 0];
    for (const [i, { request, count, rows }] of slices.entries()) {
      const { sequence, ids, done } = request;
      const start = sequence.ids.length;
      inputs.slots.set(sequence.reserve(count), token);
      inputs.blockTable.set(sequence.blocks, i * this.#maxBlocks);
      inputs.seqLens[i] = start + count;
      for (let j = 0; j < rows; j++) {
        if (inputs.readRows !== undefined && request.values !== undefined) inputs.readRows[read++] = row;
        inputs.outRows[row++] = token + count - rows + j;
      }
      for (let j = 0; j < count; j++) {
        inputs.tokens[token] = ids[done + j]!;
        inputs.positions[token] = start + j;
        if (inputs.stateRows !== undefined) inputs.stateRows[token] = sequence.stateRow!;
        inputs.seqOf[token++] = i;
      }
    }
    // A run that serves several is not stopped for one of them.
    const signal = slices.length === 1 ? slices[0]!.request.options.signal : undefined;
    const dims = { T, nOut, nSeq: slices.length, ...(hasLogits && { nRead }) };
    const outputs = this.#plan.run(inputs, { dims, ...(signal && { signal }) });
    try {
      const values = (await outputs[this.#output]!.data()) as Float32Array;
      if (nRead === nOut) return { values, greedy: undefined };
      const [ids, logits] = await Promise.all([outputs.greedyTokens!.data(), outputs.maxLogits!.data()]);
      return { values, greedy: { ids: ids as Int32Array, logits: logits as Float32Array } };
    } finally {
      for (const output of Object.values(outputs)) output.dispose();
    }
  }
}

/** Rows that come of tokens. */
function rowsOf(ids: readonly number[], { rows }: FeedOptions): number {
  return { none: 0, last: 1, all: ids.length }[rows];
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): readonly [T[], T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (test(item) ? yes : no).push(item);
  return [yes, no];
}
