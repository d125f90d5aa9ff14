import { type Backend, DisposedError, type Plan, ProgramError, type Selection } from "@centella/core";
import { blocksOf } from "../cache/blockTree.ts";
import type { Sequence } from "../cache/sequence.ts";
import { yieldToEventLoop } from "./eventLoop.ts";

/** A backend that computes on the caller's thread holds up timers and aborts for this long, or for one batch. */
const maxHoldMs = 8;

/** Sizes of a decoder and of the rows that come out of it. */
export interface DecoderOptions {
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
export type Rows = "none" | "last" | "all";

/** The most likely token after each row, the first of equals, and its logit: NaN if any of the row's is, for the first such token. */
export interface Choices {
  readonly ids: Int32Array;
  readonly logits: Float32Array;
}

/** How tokens are fed. */
export interface FeedOptions {
  readonly rows: Rows;
  /** Only look: the sequence does not keep the tokens, unless they are appended to it afterwards. They must fit into one run. */
  readonly isProbe?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Called with the tokens done so far, after each run. */
  readonly onProgress?: (done: number) => void;
}

/** Tokens that wait to be computed, or are in part. */
interface Job {
  readonly sequence: Sequence;
  readonly ids: readonly number[];
  readonly options: FeedOptions;
  /** What becomes of the rows: one of the two. */
  readonly values: Float32Array | undefined;
  readonly choices: Choices | undefined;
  readonly settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
  done: number;
  /** Runs that had no room for it. */
  waited: number;
}

/** What a run computes of a job: `count` tokens, of which the last `rows` give logits. */
interface Share {
  readonly job: Job;
  readonly count: number;
  readonly rows: number;
}

/**
 * A compiled model: feeds tokens to sequences of its cache and returns logits. What several callers want at the same time is
 * computed together, single tokens before parts of prompts; nobody's logits depend on the company on a CPU.
 */
export class Decoder {
  readonly contextLength: number;
  readonly vocabSize: number;
  /** Tokens that a probe can have, at most. */
  readonly maxProbe: number;
  /** Whether layers keep a state of each sequence, which goes on token by token and cannot be taken back. */
  readonly isRecurrent: boolean;
  /** See {@link DecoderOptions}. */
  readonly isEncoder: boolean;
  readonly #plan: Plan;
  readonly #backend: Backend;
  readonly #output: DecoderOptions["output"];
  readonly #width: number;
  /** Tokens of a run, at most. */
  readonly batchSize: number;
  readonly #maxRows: number;
  readonly #maxBlocks: number;
  #jobs: Job[] = [];
  #isRunning = false;
  /** Jobs that the run before finished: their callers may come back at once. */
  #finished = 0;
  #yieldedAt = 0;
  #disposed = false;

  constructor(plan: Plan, backend: Backend, sizes: DecoderOptions) {
    this.#plan = plan;
    this.#backend = backend;
    this.#output = sizes.output;
    this.#width = sizes.width;
    this.contextLength = sizes.contextLength;
    this.vocabSize = sizes.vocabSize;
    this.isEncoder = sizes.isEncoder;
    this.isRecurrent = plan.program.inputs.has("stateRows");
    this.maxProbe = sizes.maxRows;
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
    await this.#add({ sequence, ids, options, values, choices: undefined });
    return values;
  }

  /** {@link feed}, for those who want to know the most likely tokens alone: the logits stay where they are. */
  async choose(sequence: Sequence, ids: readonly number[], options: FeedOptions): Promise<Choices> {
    await this.unpark(sequence, options.signal);
    const rows = rowsOf(ids, options);
    const choices = { ids: new Int32Array(rows), logits: new Float32Array(rows) };
    await this.#add({ sequence, ids, options, values: undefined, choices });
    return choices;
  }

  /**
   * Reactivates a parked sequence: waits in the queue and computes its evicted tokens again.
   * @throws {DisposedError}; the signal's reason
   */
  async unpark(sequence: Sequence, signal: AbortSignal | undefined): Promise<void> {
    if (!sequence.isParked) return;
    const ids = await sequence.unpark(signal);
    await this.#add({ sequence, ids, options: { rows: "none", signal }, values: new Float32Array(0), choices: undefined });
  }

  #add(job: Pick<Job, "sequence" | "ids" | "options" | "values" | "choices">): Promise<void> {
    const { sequence, ids } = job;
    if (sequence.ids.length + ids.length > this.contextLength) {
      throw new ProgramError(`feed: expected at most ${this.contextLength - sequence.ids.length} tokens, got ${ids.length}`);
    }
    if (ids.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#jobs.push({ ...job, settle: { resolve, reject }, done: 0, waited: 0 });
      if (!this.#isRunning) void this.#work();
    });
  }

  /** Refuses further work. Jobs that have not started reject with a `DisposedError`. */
  refuse(): void {
    this.#disposed = true;
  }

  /** Refuses further work, waits for the backend's and frees the plan; weights and cache with it. */
  async dispose(): Promise<void> {
    this.refuse();
    await this.#backend.idle();
    this.#plan.dispose();
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    while (this.#jobs.length > 0) {
      // Those whose token was computed together should find each other again in the next run.
      if (performance.now() - this.#yieldedAt > maxHoldMs || this.#finished > this.#jobs.length) {
        await yieldToEventLoop();
        this.#yieldedAt = performance.now();
      }
      const [refused, willing] = partition(this.#jobs, ({ options }) => this.#disposed || options.signal?.aborted === true);
      this.#jobs = willing;
      for (const { settle, options } of refused) settle.reject(this.#disposed ? new DisposedError("model") : options.signal!.reason);
      const shares = this.#share();
      this.#finished = 0;
      if (shares.length > 0) await this.#run(shares);
    }
    this.#isRunning = false;
  }

  /** What the next run computes: those that had no room before, then the shortest. */
  #share(): readonly Share[] {
    const shares: Share[] = [];
    let [tokens, rows] = [this.batchSize, this.#maxRows];
    const left = ({ ids, done }: Job): number => ids.length - done;
    for (const job of this.#jobs.toSorted((a, b) => b.waited - a.waited || left(a) - left(b))) {
      const wanted = job.options.rows;
      const count = Math.min(left(job), tokens, wanted === "all" ? rows : tokens);
      const isLast = count === left(job);
      const taken = wanted === "all" ? count : wanted === "last" && isLast ? 1 : 0;
      if (count === 0 || taken > rows || ((job.options.isProbe || this.isEncoder) && !isLast)) {
        job.waited++;
        continue;
      }
      job.waited = 0;
      shares.push({ job, count, rows: taken });
      tokens -= count;
      rows -= taken;
    }
    return shares;
  }

  async #run(shares: readonly Share[]): Promise<void> {
    try {
      const { values, choices } = await this.#compute(shares);
      let [row, read] = [0, 0];
      for (const { job, count, rows } of shares) {
        const { sequence, ids, options } = job;
        const from = options.rows === "all" ? job.done : 0;
        if (job.values !== undefined) {
          job.values.set(values.subarray(read * this.#width, (read + rows) * this.#width), from * this.#width);
          read += rows;
        } else if (rows > 0) {
          job.choices!.ids.set(choices!.ids.subarray(row, row + rows), from);
          job.choices!.logits.set(choices!.logits.subarray(row, row + rows), from);
        }
        row += rows;
        if (options.signal?.aborted) {
          this.#end(job).reject(options.signal.reason);
          continue;
        }
        if (!options.isProbe) sequence.append(ids.slice(job.done, job.done + count));
        job.done += count;
        options.onProgress?.(job.done);
        if (job.done === ids.length) this.#end(job).resolve();
      }
    } catch (error) {
      for (const { job } of shares) this.#end(job).reject(job.options.signal?.aborted ? job.options.signal.reason : error);
    }
  }

  #end(job: Job): Job["settle"] {
    this.#jobs = this.#jobs.filter((other) => other !== job);
    this.#finished++;
    return job.settle;
  }

  /** What is asked for of the rows of all shares, one after the other. */
  async #compute(shares: readonly Share[]): Promise<{ readonly values: Float32Array; readonly choices: Choices | undefined }> {
    const T = sum(shares, ({ count }) => count);
    const nOut = sum(shares, ({ rows }) => rows);
    const nRead = sum(shares, ({ job, rows }) => (job.values === undefined ? 0 : rows));
    const hasLogits = this.#output === "logits";
    const inputs = {
      tokens: new Int32Array(T),
      positions: new Int32Array(T),
      slots: new Int32Array(T),
      seqOf: new Int32Array(T),
      blockTable: new Int32Array(shares.length * this.#maxBlocks),
      seqLens: new Int32Array(shares.length),
      outRows: new Int32Array(nOut),
      ...(this.isRecurrent && { stateRows: new Int32Array(T) }),
      ...(hasLogits && { readRows: new Int32Array(nRead) }),
    };
    let [token, row, read] = [0, 0, 0];
    for (const [i, { job, count, rows }] of shares.entries()) {
      const { sequence, ids, done } = job;
      const start = sequence.ids.length;
      inputs.slots.set(sequence.reserve(count), token);
      inputs.blockTable.set(sequence.blocks, i * this.#maxBlocks);
      inputs.seqLens[i] = start + count;
      for (let j = 0; j < rows; j++) {
        if (inputs.readRows !== undefined && job.values !== undefined) inputs.readRows[read++] = row;
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
    const signal = shares.length === 1 ? shares[0]!.job.options.signal : undefined;
    const dims = { T, nOut, nSeq: shares.length, ...(hasLogits && { nRead }) };
    const outputs = this.#plan.run(inputs, { dims, ...(signal && { signal }) });
    try {
      const values = (await outputs[this.#output]!.data()) as Float32Array;
      if (nRead === nOut) return { values, choices: undefined };
      const [ids, logits] = await Promise.all([outputs.choices!.data(), outputs.peaks!.data()]);
      return { values, choices: { ids: ids as Int32Array, logits: logits as Float32Array } };
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
