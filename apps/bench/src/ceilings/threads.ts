import { Worker } from "node:worker_threads";
import { elementAt } from "@centella/quant/checks";

import type { Job, PostedJob, WorkerSetup } from "./worker.ts";

/** Threads that run ceiling kernels, each on a memory of its own. */
export class Threads {
  readonly #workers: readonly Worker[];
  readonly #control: Int32Array;

  private constructor(workers: readonly Worker[], control: Int32Array) {
    this.#workers = workers;
    this.#control = control;
  }

  /** Starts the threads. @throws {Error} if one of them does not come up */
  static async open(count: number, module: WebAssembly.Module): Promise<Threads> {
    const control = new Int32Array(new SharedArrayBuffer(12));
    const workerData: WorkerSetup = { module, control };
    // Run from dist as well as from sources.
    const url = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);
    const workers = Array.from({ length: count }, () => new Worker(url, { workerData }));
    // While this thread waits for a job's end, it receives no errors.
    await Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            worker.once("message", resolve);
            worker.once("error", reject);
          }),
      ),
    );
    return new Threads(workers, control);
  }

  /** Runs one job per thread at the same time, on the first `jobs.length` threads, and returns the seconds until the last is done. */
  run(jobs: readonly Job[]): number {
    const control = this.#control;
    Atomics.store(control, 1, 0);
    Atomics.store(control, 2, 0);
    const start = Atomics.load(control, 0) + 1;
    jobs.forEach((job, i) => {
      elementAt(this.#workers, i).postMessage({ ...job, start } satisfies PostedJob);
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

  /** @throws {Error} after a minute: a thread has died */
  #waitFor(word: number, count: number): void {
    for (let done = Atomics.load(this.#control, word); done < count; done = Atomics.load(this.#control, word)) {
      if (Atomics.wait(this.#control, word, done, 60_000) === "timed-out")
        throw new Error(`ceilings: expected ${count} threads to answer, got ${done}`);
    }
  }
}
