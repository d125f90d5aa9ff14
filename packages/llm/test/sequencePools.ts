import type { Sequence } from "../src/cache/sequence.ts";
import { SequencePool } from "../src/cache/sequencePool.ts";

/** Consecutive tokens. */
export const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);
/** Owners of sequences. */
export const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];

/** Appends tokens. Returns their slots. */
export function extend(sequence: Sequence, ids: readonly number[]): Int32Array {
  const slots = sequence.reserve(ids.length);
  sequence.append(ids);
  return slots;
}

/** Computes `ids` as a generation would. Returns how many were cached, and the slots of all of them. */
export async function use(
  pool: SequencePool,
  owner: object,
  ids: readonly number[],
): Promise<{ cached: number; slots: readonly number[] }> {
  const sequence = await pool.acquire(owner, ids);
  const cached = sequence.ids.length;
  extend(sequence, ids.slice(cached));
  const slots = [...sequence.slots(0, ids.length)];
  pool.release(sequence);
  return { cached, slots };
}

/** Number of `ids` that were cached. */
export async function cachedOf(pool: SequencePool, owner: object, ids: readonly number[]): Promise<number> {
  return (await use(pool, owner, ids)).cached;
}

export function newPool(sequences: number, blocks: number, maxWaiting = 100): SequencePool {
  return new SequencePool({ sequences, blocks, maxWaiting });
}
