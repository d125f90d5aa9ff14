import { check, whole } from "@centella/quant/checks";
import { autoThreads } from "./cores.ts";
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
  /** Receives what the threads report. */
  onReport: (report: WorkerReport) => void;
}

/** Threads that no pool has taken yet. */
let waiting: { readonly count: number; readonly threads: Threads } | undefined;

/**
 * Starts `count` threads, by default as many as `wasm()` uses. The next backend that opens with this many takes them. They then start while
 * the backend's code is loaded, which saves time in processes that compute at once.
 * @throws {ArgumentError} for a number that is not from 1 to 64
 */
export function startThreads(count: number = autoThreads()): void {
  check("startThreads", "count", count, whole(1, 64));
  waiting ??= { count, threads: start(count) };
}

/** Returns this many threads, those of {@link startThreads} if their number is the same. */
export function takeThreads(count: number, onReport: Threads["onReport"]): Threads {
  const threads = waiting?.count === count ? waiting.threads : start(count);
  if (threads === waiting?.threads) waiting = undefined;
  threads.onReport = onReport;
  return threads;
}

function start(count: number): Threads {
  const pool = new SharedArrayBuffer(4 * poolFields.count);
  const common = { pool, fields: poolFields, results: stageResult, spins: tileSpins, spinMs };
  const starting = Array.from({ length: count }, (_, index) => startWorker({ ...common, index }, (report) => threads.onReport(report)));
  const threads: Threads = { control: new Int32Array(pool), workers: Promise.allSettled(starting), onReport: () => undefined };
  return threads;
}
