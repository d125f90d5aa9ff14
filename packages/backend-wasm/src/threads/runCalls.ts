import { yieldToEventLoop } from "../eventLoop.ts";
import { type Call, mostCalls, type ThreadPool } from "./pool.ts";

/** Runs independent calls on all threads. `isDue` and `pause`: the caller's thread stops in between to do other things, or throws. */
export async function runCalls(
  pool: ThreadPool | undefined,
  calls: readonly Call[],
  isDue: () => boolean,
  pause: () => Promise<void>,
): Promise<void> {
  for (let first = 0; first < calls.length; first += mostCalls) {
    const batch = calls.slice(first, first + mostCalls);
    if (pool === undefined || batch.length === 1) {
      for (const { fn, args } of batch) {
        fn(...args);
        if (isDue()) await pause();
      }
      continue;
    }
    pool.begin(batch);
    try {
      while (pool.help()) if (isDue()) await pause();
    } finally {
      pool.cancel();
      await pool.end(yieldToEventLoop);
    }
  }
}

/** {@link runCalls} in one go. */
export function runCallsSync(pool: ThreadPool | undefined, calls: readonly Call[]): void {
  for (let first = 0; first < calls.length; first += mostCalls) {
    const batch = calls.slice(first, first + mostCalls);
    if (pool === undefined || batch.length === 1) {
      for (const { fn, args } of batch) fn(...args);
      continue;
    }
    pool.begin(batch);
    try {
      while (pool.help());
    } finally {
      pool.cancel();
      pool.endSync();
    }
  }
}
