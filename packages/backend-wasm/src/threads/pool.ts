import { DeviceLostError, DisposedError, KernelError, type UnsupportedError } from "@centella/core";
import { entryOf } from "@centella/core/backend";
import type { WasmMemory } from "../memory/wasmMemory.ts";
import type { StageRange } from "./control.ts";
import { startThreads } from "./startThreads.ts";
import type { StartedWorker } from "./startWorker.ts";
import { poolFields, type WorkerMail, type WorkerReport } from "./worker.ts";

/** A message without its id. */
type Mail = WorkerMail extends infer M ? (M extends WorkerMail ? Omit<M, "id"> : never) : never;

/** A memory's id, and its modules by table slot. */
interface MemoryModules {
  readonly id: number;
  readonly modules: Map<number, Mail & { readonly load: WebAssembly.Module }>;
}

/** Threads that run step lists. Each instantiates every module of every memory. */
export class ThreadPool {
  /** Number of threads. */
  readonly size: number;
  #control: Int32Array = new Int32Array(0);
  /** Loads and restarts, one after another: threads that are ending do not answer. Undefined until threads are started. */
  #changes: Promise<void> | undefined;
  #workers: readonly StartedWorker[] = [];
  readonly #memories = new Map<WasmMemory, MemoryModules>();
  readonly #answers = new Map<number, { resolve: () => void; reject: (error: Error) => void; left: number }>();
  #nextMemory = 1;
  #nextMail = 1;
  /** The error of loads after threads could not be started for a reason. */
  readonly #failureOf: (reason: unknown) => UnsupportedError | undefined;
  #failure: UnsupportedError | undefined;
  /** Why no further list can be started. */
  #end: DeviceLostError | DisposedError | undefined;
  #onEnd: ((error?: Error) => void) | undefined;
  #users = 0;

  /**
   * A pool of `size` threads that start with the first load. If they cannot be started, the pool is lost, and loads reject with what
   * `failureOf` returns for the reason, or resolve if it returns undefined.
   */
  constructor(size: number, failureOf: (reason: unknown) => UnsupportedError | undefined) {
    this.size = size;
    this.#failureOf = failureOf;
  }

  /** Starts `count` threads. Rejects if they cannot be started. */
  static async start(count: number): Promise<ThreadPool> {
    const pool = new ThreadPool(count, () => undefined);
    await pool.#start();
    pool.#changes = Promise.resolve();
    return pool;
  }

  /** Whether a thread or the whole pool has ended. No list can be started afterwards. */
  get isLost(): boolean {
    return this.#end !== undefined;
  }

  /** Instantiates a module on every thread, with its thunks from table slot `base` on. Does nothing once the pool is lost. */
  async load(memory: WasmMemory, module: WebAssembly.Module, base: number, count: number): Promise<void> {
    if (this.isLost && this.#failure === undefined) return;
    await this.#change(async () => {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.isLost) return;
      let known = this.#memories.get(memory);
      if (known === undefined) {
        known = { id: this.#nextMemory++, modules: new Map() };
        this.#memories.set(memory, known);
      }
      const mail = { load: module, memoryId: known.id, memory: memory.heap.memory, base, count };
      known.modules.set(base, mail);
      await this.#send(mail);
    });
  }

  /** Unloads a module that is no longer called. */
  async unload(memory: WasmMemory, base: number, count: number): Promise<void> {
    if (this.isLost) return;
    // Threads that are started again before the others unload it do not load it.
    this.#memories.get(memory)?.modules.delete(base);
    await this.#change(async () => {
      const known = this.#memories.get(memory);
      if (known === undefined) return;
      known.modules.delete(base);
      await this.#send({ unload: true, memoryId: known.id, base, count });
    });
  }

  /** Releases a memory. The threads are restarted, because a thread that waits for work collects no garbage. */
  async drop(memory: WasmMemory): Promise<void> {
    if (this.#changes === undefined) return;
    await this.#change(async () => {
      if (this.#memories.delete(memory)) await this.#startAnew();
    });
  }

  /**
   * Runs a list on the threads. An abort ends it after the tiles in progress.
   * @throws {KernelError} if a tile trapped
   * @throws {DeviceLostError} if a thread has died
   * @throws {DisposedError}
   */
  async run(memory: WasmMemory, list: StageRange, signal: AbortSignal | undefined): Promise<void> {
    const { control } = memory;
    const cancel = (): void => control.cancel();
    this.#use(1);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onEnd = (error) => {
          if (error !== undefined) reject(error);
          else if (!control.isRunning) resolve();
        };
        signal?.addEventListener("abort", cancel, { once: true });
        control.begin(list, 0);
        if (signal?.aborted === true) cancel();
        this.wake(memory, this.size);
      });
    } catch (error) {
      // A terminating thread may still be at a tile. Nothing else runs on this memory before all threads have ended.
      await this.#terminate();
      control.clear();
      throw error;
    } finally {
      this.#onEnd = undefined;
      signal?.removeEventListener("abort", cancel);
      this.#use(-1);
    }
    if (control.isFailed) throw new KernelError("wasm", "", "a kernel trapped");
  }

  /** Wakes the first `helpers` threads for the list that was opened in a memory. */
  wake(memory: WasmMemory, helpers: number): void {
    const control = this.#control;
    Atomics.store(control, poolFields.memoryId, entryOf(this.#memories, memory).id);
    Atomics.store(control, poolFields.helpers, helpers);
    Atomics.add(control, poolFields.epoch, 1);
    Atomics.notify(control, poolFields.epoch);
  }

  /** Ends the threads. Current and later lists fail with a `DisposedError`. */
  dispose(): void {
    this.#finish(new DisposedError("backend wasm"));
    void this.#terminate();
  }

  /** Ends the threads after one of them stopped responding. */
  markLost(): void {
    this.#finish(threadLost());
    void this.#terminate();
  }

  async #terminate(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #change(work: () => Promise<void>): Promise<void> {
    this.#changes ??= this.#start().catch((reason: unknown) => {
      if (!this.isLost) this.#failure = this.#failureOf(reason);
      this.markLost();
    });
    const done = this.#changes.then(work);
    this.#changes = done.catch(() => undefined);
    return done;
  }

  async #startAnew(): Promise<void> {
    if (this.isLost) return;
    const old = this.#workers;
    this.#workers = [];
    for (const worker of old) void worker.terminate();
    try {
      await this.#start();
      for (const { modules } of this.#memories.values()) for (const mail of modules.values()) await this.#send(mail);
    } catch {
      this.markLost();
    }
  }

  async #start(): Promise<void> {
    // Terminating threads read their old control memory.
    const threads = startThreads(this.size, (report) => this.#report(report));
    this.#control = threads.control;
    const started = await threads.workers;
    const workers = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failure = started.find((result) => result.status === "rejected");
    if (failure !== undefined || this.#end !== undefined) {
      for (const worker of workers) void worker.terminate();
      throw failure?.reason ?? this.#end;
    }
    this.#workers = workers;
    for (const worker of workers) {
      void worker.ended.then(() => {
        if (this.#workers.includes(worker)) this.#finish(threadLost());
      });
    }
    if (this.#users > 0) workers[0]?.keep(true);
  }

  #send(mail: Mail): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = this.#nextMail++;
    this.#use(1);
    return new Promise<void>((resolve, reject) => {
      this.#answers.set(id, { resolve, reject, left: this.size });
      // Before the message: otherwise a thread that has handled it would wait for it again.
      Atomics.add(this.#control, poolFields.mail, 1);
      for (const worker of this.#workers) worker.post({ ...mail, id } as WorkerMail);
      Atomics.add(this.#control, poolFields.epoch, 1);
      Atomics.notify(this.#control, poolFields.epoch);
    }).finally(() => this.#use(-1));
  }

  /** Keeps the process alive while a caller waits for a thread. */
  #use(change: 1 | -1): void {
    this.#users += change;
    if (this.#users === (change === 1 ? 1 : 0)) this.#workers[0]?.keep(change === 1);
  }

  #report(report: WorkerReport): void {
    if ("ended" in report) this.#onEnd?.();
    else if ("done" in report) {
      const answer = this.#answers.get(report.done);
      if (answer === undefined) return;
      answer.left--;
      if (report.error !== undefined) answer.reject(new KernelError("wasm", "", report.error));
      if (answer.left > 0) return;
      this.#answers.delete(report.done);
      answer.resolve();
    }
  }

  #finish(end: DeviceLostError | DisposedError): void {
    this.#end ??= end;
    this.#onEnd?.(this.#end);
    for (const { reject } of this.#answers.values()) reject(this.#end);
    this.#answers.clear();
  }
}

function threadLost(): DeviceLostError {
  return new DeviceLostError("wasm", "a thread has ended");
}
