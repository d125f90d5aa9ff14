import { Worker } from "node:worker_threads";
import type { Job, PostedJob, WorkerSetup } from "./worker.ts";

/** Threads that run ceiling kernels on one shared memory. */
export class Threads {
  readonly #workers: readonly Worker[];
  readonly #control: Int32Array;

  constructor(count: number, module: WebAssembly.Module, memory: WebAssembly.Memory) {
    this.#control = new Int32Array(new SharedArrayBuffer(12));
    const workerData: WorkerSetup = { module, memory, control: this.#control };
    // Run from dist as well as from sources.
    const url = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);
    this.#workers = Array.from({ length: count }, () => new Worker(url, { workerData }));
  }

  /** Runs one job per thread at the same time, on the first `jobs.length` threads, and returns the seconds until the last is done. */
  run(jobs: readonly Job[]): number {
    const control = this.#control;
    Atomics.store(control, 1, 0);
    Atomics.store(control, 2, 0);
    const start = Atomics.load(control, 0) + 1;
    jobs.forEach((job, i) => {
      this.#workers[i]!.postMessage({ ...job, start } satisfies PostedJob);
    });
    this.#waitFor(1, jobs.length);
    const begin = performance.now();
    Atomics.store(control, 0, start);
    Atomics.notify(control, 0);
    this.#waitFor(2, jobs.length);
    return (performance.now() - begin) / 1e3;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #waitFor(count: number): void {
    for (let done = Atomics.load(this.#control, 1); done < count; done = Atomics.load(this.#control, 1))
      Atomics.wait(this.#control, 1, done);
  }
}
