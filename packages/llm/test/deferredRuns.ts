import { expect } from "vitest";
import type { Sequence } from "../src/cache/sequence.ts";
// Loaded before a file's first test, which counts turns of the event loop.
import "../src/scheduler/deferredChoices.ts";
import type { Scheduler } from "../src/scheduler/scheduler.ts";
import { feed, type RecordedRun, type setUp, turns } from "./fakeScheduler.ts";

export const mask = (bits: number): Uint32Array[] => [Uint32Array.of(bits)];
export const ready = async <Plans>(plans: Plans): Promise<Plans> => plans;
export const last = (runs: readonly RecordedRun[]): RecordedRun => runs.at(-1)!;
export const kinds = (runs: readonly RecordedRun[]): RecordedRun["plan"][] => runs.map(({ plan }) => plan);

/** Feeds a token under a mask. */
export const choose = (scheduler: Scheduler, sequence: Sequence, id: number, following: number, bits: number): Promise<number> =>
  feed(scheduler, sequence, [id], following, { masks: mask(bits) });

/** A sequence whose first token is 6, and whose next one is computed ahead. */
export async function begun(set: ReturnType<typeof setUp>, first = 6, following = 9): Promise<Sequence> {
  const sequence = await set.pool.acquire({});
  const chosen = choose(set.scheduler, sequence, 4, following, 0b1000000);
  await turns();
  set.runs.at(-2)!.end(first);
  expect(await chosen).toBe(first);
  return sequence;
}
