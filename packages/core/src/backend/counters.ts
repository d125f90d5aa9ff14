import type { Step } from "../compiler/lowered.ts";
import type { Counters } from "./backend.ts";

/** Returns zeroed counters for a new backend. */
export function createCounters(): Counters {
  return { uploads: 0, submits: 0, readbacks: 0, ops: {} };
}

/** Counts a step that was executed. */
export function countStep({ ops }: Counters, { op }: Step): void {
  ops[op.name] = (ops[op.name] ?? 0) + 1;
}
