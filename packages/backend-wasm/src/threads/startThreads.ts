import { type StartedWorker, startWorker } from "./startWorker.ts";
import { poolFields, stageResult, type WorkerReport } from "./worker.ts";

/** Time that a worker polls for the next list before it sleeps. */
const spinMs = 0.1;
/** Polls for a tile before the thread sleeps: about the same time. */
export const tileSpins = 40_000;

/** The threads of a pool, on their way. */
interface Threads {
  /** The memory through which the pool directs them: see {@link poolFields}. */
  readonly control: Int32Array;
  readonly workers: Promise<readonly PromiseSettledResult<StartedWorker>[]>;
}

/** Starts `count` threads. `onReport` receives what they report. */
export function startThreads(count: number, onReport: (report: WorkerReport) => void): Threads {
  const pool = new SharedArrayBuffer(4 * poolFields.count);
  const common = { pool, fields: poolFields, results: stageResult, spins: tileSpins, spinMs };
  const starting = Array.from({ length: count }, (_, index) => startWorker({ ...common, index }, onReport));
  return { control: new Int32Array(pool), workers: Promise.allSettled(starting) };
}
