import { convertRows, type RowsJob } from "./convertRows.ts";
import type { ConvertAnswer } from "./convertWorker.ts";

/** Converts rows, several jobs at a time. */
export interface Converters {
  /** How many jobs run at once. */
  readonly count: number;
  /** Transfers the job's bytes. Rejects with an error that says what is wrong with the values. */
  convert(job: RowsJob): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the threads. */
  dispose(): Promise<void>;
}

interface NodeWorker {
  on(event: "message", listener: (answer: ConvertAnswer) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  postMessage(job: RowsJob, transfer: readonly ArrayBuffer[]): void;
  terminate(): Promise<number>;
}

type NodeWorkerClass = new (url: URL, options: { readonly resourceLimits: object }) => NodeWorker;

interface NodeModules {
  getBuiltinModule?(name: "node:worker_threads"): { readonly Worker: NodeWorkerClass };
  getBuiltinModule?(name: "node:os"): { availableParallelism(): number };
}

/** A thread of Node takes some 20 MB: with eight of them, quantising stays below 300 MB. */
const mostByDefault = 8;

/** As many threads as asked for, or in Node as there are cores up to eight; elsewhere the calling thread. */
export function startConverters(threads: number | undefined): Converters {
  const { process } = globalThis as { process?: NodeModules };
  const workerThreads = process?.getBuiltinModule?.("node:worker_threads");
  const count = threads ?? Math.min(mostByDefault, process?.getBuiltinModule?.("node:os").availableParallelism() ?? 1);
  return workerThreads === undefined || count <= 1 ? callingThread : new ThreadPool(workerThreads.Worker, count);
}

const callingThread: Converters = {
  count: 1,
  async convert(job) {
    // Lets events, such as an abort, be handled between two jobs.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return convertRows(job);
  },
  async dispose() {},
};

interface Waiting {
  readonly job: RowsJob;
  readonly resolve: (bytes: Uint8Array<ArrayBuffer>) => void;
  readonly reject: (error: Error) => void;
}

/** A thread's objects are few and short-lived: young ones are collected early, so that many threads need little memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 2 };

class ThreadPool implements Converters {
  readonly count: number;
  readonly #workers: readonly NodeWorker[];
  readonly #idle: NodeWorker[];
  readonly #running = new Map<NodeWorker, Waiting>();
  readonly #queue: Waiting[] = [];
  #failure: Error | undefined;

  constructor(Worker: NodeWorkerClass, count: number) {
    this.count = count;
    // The ending of this module: sources and built files have the same folders.
    const url = new URL(import.meta.url.replace(/[^/]*(\.[jt]s)$/, "convertWorker$1"));
    this.#workers = Array.from({ length: count }, () => new Worker(url, { resourceLimits }));
    this.#idle = [...this.#workers];
    for (const worker of this.#workers) {
      worker.on("message", (answer) => this.#answered(worker, answer));
      worker.on("error", (error) => this.#broken(error));
    }
  }

  convert(job: RowsJob): Promise<Uint8Array<ArrayBuffer>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#queue.push({ job, resolve, reject });
      this.#next();
    });
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #next(): void {
    for (;;) {
      const [worker, waiting] = [this.#idle.at(-1), this.#queue.at(0)];
      if (worker === undefined || waiting === undefined) return;
      this.#idle.pop();
      this.#queue.shift();
      this.#running.set(worker, waiting);
      worker.postMessage(waiting.job, [waiting.job.bytes.buffer]);
    }
  }

  #answered(worker: NodeWorker, answer: ConvertAnswer): void {
    const waiting = this.#running.get(worker);
    this.#running.delete(worker);
    this.#idle.push(worker);
    if ("bytes" in answer) waiting?.resolve(answer.bytes);
    else waiting?.reject(new Error(answer.problem));
    this.#next();
  }

  /** A thread ends by itself only if memory runs out or its module is missing, which fails the remaining threads too. */
  #broken(error: Error): void {
    this.#failure = error;
    for (const { reject } of [...this.#running.values(), ...this.#queue.splice(0)]) reject(error);
  }
}
