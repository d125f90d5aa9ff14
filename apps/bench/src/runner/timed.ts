import type { Subject } from "./subject.ts";

/** Milliseconds since some moment. */
export type Clock = () => number;

/** `sample` over a clock: `work(set)` is one call; `settle` waits for work that calls have only queued. */
export function timed(
  work: (set: number) => Promise<unknown> | unknown,
  { settle, clock = () => performance.now() }: { readonly settle?: () => Promise<unknown>; readonly clock?: Clock } = {},
): Subject["sample"] {
  return async (calls, first) => {
    const start = clock();
    for (let i = 0; i < calls; i++) {
      const pending = work(first + i);
      // Awaiting a plain value would add a trip through the microtask queue to synchronous subjects.
      if (pending instanceof Promise) await pending;
    }
    if (settle !== undefined) await settle();
    return (clock() - start) / 1e3;
  };
}
