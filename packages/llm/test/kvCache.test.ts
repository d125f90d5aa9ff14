import { describe, expect, test } from "vitest";
import { blockTokens } from "../src/blockTree.ts";
import { BusyError } from "../src/errors.ts";
import { type Sequence, SequencePool } from "../src/kvCache.ts";

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i);
const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];

function extend(sequence: Sequence, ids: readonly number[]): Int32Array {
  const slots = sequence.reserve(ids.length);
  sequence.append(ids);
  return slots;
}

/** Computes `ids` as a generation would and returns how many were cached, and where all of them lie. */
function use(pool: SequencePool, owner: object, ids: readonly number[]): { cached: number; slots: readonly number[] } {
  const sequence = pool.acquire(owner, ids);
  const cached = sequence.ids.length;
  extend(sequence, ids.slice(cached));
  const slots = [...sequence.slots(0, ids.length)];
  pool.release(sequence);
  return { cached, slots };
}

describe("SequencePool", () => {
  test("tokens get slots in blocks, each its own", () => {
    const pool = new SequencePool(2, 3);
    const [first, second] = [pool.acquire(a), pool.acquire(b)];
    const slots = [first, second, first, second].flatMap((sequence) => [...extend(sequence, numbers(blockTokens - 5))]);
    expect(new Set(slots).size).toBe(4 * (blockTokens - 5));
    expect(Math.max(...slots)).toBeLessThan(2 * 3 * blockTokens);
    for (const slot of first.slots(0, first.ids.length)) expect(first.blocks).toContain(Math.floor(slot / blockTokens));
  });

  test("an owner finds its tokens again, up to where a text differs", () => {
    const pool = new SequencePool(1, 4);
    const ids = numbers(blockTokens + 10);
    const { slots } = use(pool, a, ids);
    expect(use(pool, a, [...ids, 7])).toMatchObject({ cached: ids.length });
    expect(use(pool, a, [...ids.slice(0, -3), 8, 9]).cached).toBe(ids.length - 3);
    expect(use(pool, a, [...ids.slice(0, 5), 8]).cached).toBe(5);
    // What followed the place is gone.
    expect(use(pool, a, ids)).toMatchObject({ cached: 5, slots: expect.arrayContaining(slots.slice(0, 5)) });
  });

  test("whole blocks are shared by everyone, a block that is begun is its owner's", () => {
    const pool = new SequencePool(2, 4);
    const ids = numbers(2 * blockTokens + 9);
    const { slots } = use(pool, a, ids);
    const other = use(pool, b, [...ids, 1]);
    expect(other.cached).toBe(2 * blockTokens);
    expect(other.slots.slice(0, other.cached)).toEqual(slots.slice(0, other.cached));
    expect(new Set([...slots, ...other.slots]).size).toBe(2 * blockTokens + 9 + 10);
    expect(use(pool, a, ids)).toEqual({ cached: ids.length, slots });
    // Someone else's text that ends within a block does not take that block away.
    expect(use(pool, b, ids.slice(0, blockTokens + 4)).cached).toBe(blockTokens);
    expect(use(pool, a, ids)).toEqual({ cached: ids.length, slots });
  });

  test("a beginning that is shared while it is computed on stays as it is", () => {
    const pool = new SequencePool(2, 2);
    const ids = numbers(blockTokens);
    use(pool, a, ids);
    const [one, two] = [pool.acquire(a, ids), pool.acquire(b, ids)];
    expect([...one.slots(0, 32)]).toEqual([...two.slots(0, 32)]);
    const [ofOne, ofTwo] = [extend(one, [1, 2]), extend(two, [3])];
    expect([...ofOne]).not.toContain(ofTwo[0]);
    // The owner goes back within the block that another one uses: it gets a block of its own.
    pool.release(one);
    expect(pool.acquire(a, ids.slice(0, 20)).ids).toEqual([]);
    expect(two.ids).toEqual([...ids, 3]);
  });

  test("room is made by what was used longest ago, ends of texts first, never by what is in use", () => {
    const pool = new SequencePool(2, 2);
    const textOf = (start: number): number[] => numbers(2 * blockTokens, start);
    use(pool, a, textOf(0));
    use(pool, b, textOf(1000));
    use(pool, c, textOf(2000).slice(0, 1));
    expect(use(pool, b, textOf(1000)).cached).toBe(2 * blockTokens);
    expect(use(pool, a, textOf(0)).cached).toBe(blockTokens);
    const held = pool.acquire(b, textOf(1000));
    for (let i = 3; i < 8; i++) use(pool, c, textOf(1000 * i));
    expect(held.ids).toEqual(textOf(1000));
    expect(use(pool, a, textOf(0)).cached).toBe(0);
  });

  test("every sequence can be filled whatever is cached", () => {
    const pool = new SequencePool(3, 5);
    for (let round = 0; round < 20; round++) {
      const sequences = [a, b, c].map((owner) => pool.acquire(owner, numbers((round * 13) % 140, round % 3)));
      for (const [i, sequence] of sequences.entries()) {
        while (sequence.ids.length < 5 * blockTokens) extend(sequence, [round * 3 + i]);
      }
      const slots = sequences.flatMap((sequence) => [...sequence.slots(0, 5 * blockTokens)]);
      expect(new Set(slots).size).toBeGreaterThan(0);
      for (const sequence of sequences) pool.release(sequence);
    }
  });

  test("all in use is an error, not a wait", () => {
    const pool = new SequencePool(1, 1);
    const sequence = pool.acquire({});
    expect(() => pool.acquire({})).toThrow(BusyError);
    expect(() => pool.acquire({})).toThrow(/1 of 1 in use/);
    pool.release(sequence);
    expect(pool.acquire({}).index).toBe(0);
  });

  test("free forgets the owner's tokens, unless others go on from them", () => {
    const pool = new SequencePool(2, 3);
    const ids = numbers(blockTokens + 3);
    use(pool, a, ids);
    pool.free(a);
    expect(use(pool, a, ids).cached).toBe(0);
    use(pool, b, [...ids, 5]);
    pool.free(a);
    expect(use(pool, b, [...ids, 5]).cached).toBe(ids.length + 1);
    const held = pool.acquire(b, ids);
    pool.free(b);
    expect(held.ids).toEqual(ids);
  });

  test("tokens that were reserved but never appended leave nothing behind", () => {
    const pool = new SequencePool(1, 2);
    const sequence = pool.acquire(a);
    extend(sequence, [1, 2, 3]);
    sequence.reserve(2 * blockTokens - 3);
    pool.release(sequence);
    expect(pool.acquire(a, [1, 2, 3, 4]).ids).toEqual([1, 2, 3]);
  });
});
