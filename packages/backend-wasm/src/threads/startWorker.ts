import { type WorkerStart, workerMain } from "./worker.ts";

/** A helper thread that has begun to wait for work. */
export interface StartedWorker {
  terminate(): void;
  /** Resolves when the thread is gone, for whatever reason. */
  readonly ended: Promise<void>;
}

interface NodeThread {
  once(event: "message" | "error" | "exit", listener: (value: unknown) => void): void;
  unref(): void;
  terminate(): Promise<number>;
}

interface NodeThreads {
  readonly Worker: new (source: string, options: object) => NodeThread;
}

/** Starts {@link workerMain} in Node's threads, or in a Web Worker. */
export async function startWorker(start: WorkerStart): Promise<StartedWorker> {
  const source = `(${workerMain.toString()})()`;
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeThreads } };
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  return threads === undefined ? startWebWorker(source, start) : startNodeWorker(threads, source, start);
}

function startNodeWorker({ Worker }: NodeThreads, source: string, start: WorkerStart): Promise<StartedWorker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(source, { eval: true, workerData: start, execArgv: [], name: "centella" });
    const ended = new Promise<void>((end) => worker.once("exit", () => end()));
    worker.once("error", reject);
    worker.once("message", () => {
      worker.unref();
      resolve({ terminate: () => void worker.terminate(), ended });
    });
    void ended.then(() => reject(new Error("the thread ended at once")));
  });
}

function startWebWorker(source: string, start: WorkerStart): Promise<StartedWorker> {
  return new Promise((resolve, reject) => {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(url);
    const ended = new Promise<void>((end) => {
      worker.onerror = (event) => {
        reject(new Error(event.message));
        end();
      };
    });
    worker.onmessage = () => {
      URL.revokeObjectURL(url);
      resolve({ terminate: () => worker.terminate(), ended });
    };
    worker.postMessage(start);
  });
}
