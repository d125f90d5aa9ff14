import type { WorkerMail, WorkerReport, WorkerStart } from "./worker.ts";
import { workerSource } from "./workerSource.ts";

/** A running thread. */
export interface StartedWorker {
  post(mail: WorkerMail): void;
  /** Ends the thread. Resolves once it no longer computes, as far as the engine reports. */
  terminate(): Promise<void>;
  /** A kept thread keeps the process alive. */
  keep(isKept: boolean): void;
  /** Resolves when the thread has ended for any reason. */
  readonly ended: Promise<void>;
}

interface NodeThread {
  on(event: "message", listener: (report: WorkerReport) => void): void;
  once(event: "error" | "exit", listener: (value: unknown) => void): void;
  postMessage(mail: WorkerMail): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

interface NodeThreads {
  readonly Worker: new (source: string, options: object) => NodeThread;
}

/** Starts {@link workerSource} as a Node thread or a Web Worker. Resolves when it is ready for messages. */
export async function startWorker(start: WorkerStart, onReport: (report: WorkerReport) => void): Promise<StartedWorker> {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeThreads } };
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  return threads === undefined ? startWebWorker(start, onReport) : startNodeWorker(threads, start, onReport);
}

function startNodeWorker({ Worker }: NodeThreads, start: WorkerStart, onReport: (report: WorkerReport) => void): Promise<StartedWorker> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerSource, { eval: true, workerData: start, execArgv: [], name: "centella" });
    const ended = new Promise<void>((end) => worker.once("exit", () => end()));
    worker.once("error", reject);
    worker.on("message", (report) => {
      if (!("ready" in report)) return onReport(report);
      worker.unref();
      resolve({
        post: (mail) => worker.postMessage(mail),
        terminate: async () => void (await worker.terminate()),
        keep: (isKept) => (isKept ? worker.ref() : worker.unref()),
        ended,
      });
    });
    void ended.then(() => reject(new Error("the thread ended at once")));
  });
}

function startWebWorker(start: WorkerStart, onReport: (report: WorkerReport) => void): Promise<StartedWorker> {
  return new Promise((resolve, reject) => {
    const url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
    const worker = new Worker(url);
    const ended = new Promise<void>((end) => {
      worker.onerror = (event) => {
        reject(new Error(event.message));
        end();
      };
    });
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => {
      if (!("ready" in data)) return onReport(data);
      URL.revokeObjectURL(url);
      resolve({
        post: (mail) => worker.postMessage(mail),
        terminate: async () => worker.terminate(),
        keep: () => undefined,
        ended,
      });
    };
    worker.postMessage(start);
  });
}
