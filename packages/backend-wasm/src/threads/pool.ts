import { DeviceLostError, KernelError } from "@centella/core";
import { memoryMap } from "../memoryMap.ts";
import { type StartedWorker, startWorker } from "./startWorker.ts";
import { controlFields, jobFields, type WorkerStart } from "./worker.ts";

/** One call of an emitted function. Calls of one batch may run at the same time and in any order. */
export interface Call {
  readonly fn: (...args: number[]) => unknown;
  readonly args: readonly number[];
}

/** How long a worker looks for the next batch before it sleeps. */
const spinMs = 0.1;
/** How long a call may take before its thread counts as lost: calls are a few milliseconds long. */
const lostMs = 10_000;

const { epoch, remaining, done, total, sleeping, isWaiting, failed } = controlFields;

/** Helper threads over one shared memory. The thread that starts a batch works on it too, so that a batch ends without any helper. */
export class ThreadPool {
  readonly #control: Int32Array;
  readonly #jobs: Float64Array;
  readonly #indices: ReadonlyMap<unknown, number>;
  readonly #workers: readonly StartedWorker[];
  #calls: readonly Call[] = [];
  #isLost = false;

  private constructor(memory: WebAssembly.Memory, functions: readonly unknown[], workers: readonly StartedWorker[]) {
    this.#control = new Int32Array(memory.buffer, memoryMap.control, controlFields.count);
    this.#jobs = new Float64Array(memory.buffer, memoryMap.jobs, mostCalls * jobFields);
    this.#indices = new Map(functions.map((fn, index) => [fn, index]));
    this.#workers = workers;
    for (const { ended } of workers) void ended.then(() => this.#lose());
  }

  /** Starts `count` helpers; rejects where workers cannot be started. */
  static async start(
    module: WebAssembly.Module,
    instance: WebAssembly.Instance,
    memory: WebAssembly.Memory,
    count: number,
  ): Promise<ThreadPool> {
    const names = Object.keys(instance.exports);
    const start: WorkerStart = {
      module,
      memory,
      control: memoryMap.control,
      jobs: memoryMap.jobs,
      names,
      fields: controlFields,
      jobFields,
      spinMs,
    };
    const started = await Promise.allSettled(Array.from({ length: count }, () => startWorker(start)));
    const workers = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failure = started.find((result) => result.status === "rejected");
    if (failure !== undefined) {
      for (const worker of workers) worker.terminate();
      throw failure.reason;
    }
    return new ThreadPool(
      memory,
      names.map((name) => instance.exports[name]),
      workers,
    );
  }

  /** Helpers that were started. */
  get size(): number {
    return this.#workers.length;
  }

  /** Offers calls to the helpers, at most {@link mostCalls}; then {@link help} until it is false, then wait for the end. */
  begin(calls: readonly Call[]): void {
    this.#calls = calls;
    calls.forEach(({ fn, args }, i) => {
      const at = i * jobFields;
      this.#jobs[at] = this.#indices.get(fn)!;
      this.#jobs[at + 1] = args.length;
      this.#jobs.set(args, at + 2);
    });
    const control = this.#control;
    Atomics.store(control, done, 0);
    Atomics.store(control, total, calls.length);
    Atomics.store(control, remaining, calls.length);
    Atomics.add(control, epoch, 1);
    if (Atomics.load(control, sleeping) > 0) Atomics.notify(control, epoch);
  }

  /** Runs one call that nobody has taken; false if there is none. */
  help(): boolean {
    const control = this.#control;
    if (Atomics.load(control, remaining) <= 0) return false;
    const left = Atomics.sub(control, remaining, 1);
    if (left <= 0) return false;
    const { fn, args } = this.#calls[left - 1]!;
    try {
      fn(...args);
    } finally {
      Atomics.add(control, done, 1);
    }
    return true;
  }

  /** Takes back the calls that nobody has taken. */
  cancel(): void {
    const left = Atomics.exchange(this.#control, remaining, 0);
    if (left > 0) Atomics.add(this.#control, done, left);
  }

  /** Waits until every call that was taken is done. @throws {DeviceLostError} if a thread has died */
  async end(pause: () => Promise<void>): Promise<void> {
    const deadline = performance.now() + lostMs;
    while (!this.#spin()) {
      if (this.#isLost || performance.now() > deadline) this.#fail();
      await pause();
    }
    this.#check();
  }

  /** {@link end} for callers that cannot wait. */
  endSync(): void {
    const control = this.#control;
    const deadline = performance.now() + lostMs;
    while (!this.#spin()) {
      if (this.#isLost || performance.now() > deadline) this.#fail();
      Atomics.store(control, isWaiting, 1);
      const seen = Atomics.load(control, done);
      try {
        if (seen < Atomics.load(control, total)) Atomics.wait(control, done, seen, 10);
      } catch {
        // A page's main thread may not wait: it goes on looking.
      }
      Atomics.store(control, isWaiting, 0);
    }
    this.#check();
  }

  dispose(): void {
    this.#isLost = true;
    for (const worker of this.#workers) worker.terminate();
  }

  #isDone(): boolean {
    return Atomics.load(this.#control, done) >= Atomics.load(this.#control, total);
  }

  #spin(): boolean {
    for (let poll = 0; poll < 2000; poll++) if (this.#isDone()) return true;
    return false;
  }

  #check(): void {
    if (Atomics.exchange(this.#control, failed, 0) !== 0) throw new KernelError("wasm", "", "a helper thread trapped");
  }

  #lose(): void {
    this.#isLost = true;
  }

  #fail(): never {
    this.dispose();
    throw new DeviceLostError("wasm", "a helper thread ended in the middle of a run");
  }

  /** Whether a helper has ended: no batch may be begun any more. */
  get isLost(): boolean {
    return this.#isLost;
  }
}

/** Calls per batch. */
export const mostCalls = 512;
