import { describe, expect, test } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import { SequencePool } from "../src/cache/sequencePool.ts";
import { FakeSlotCopier } from "./fakeSlotCopier.ts";
import { a, b, c, cachedOf, extend, newPool, numbers, use } from "./sequencePools.ts";

describe("SequencePool", () => {
  test("texts of one request share a place and the blocks of one sequence", async () => {
    const pool = newPool(1, 3);
    const group = await pool.acquireTogether(a, [[], [], []]);
    const slots = group.flatMap((sequence) => [...extend(sequence, numbers(blockTokens))]);
    expect(new Set(slots).size).toBe(3 * blockTokens);
    let isServed = false;
    const waiting = pool.acquire(b).then((sequence) => {
      isServed = true;
      return sequence;
    });
    pool.release(group[0]!);
    pool.release(group[1]!);
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(isServed).toBe(false);
    pool.release(group[2]!);
    pool.release(await waiting);
    expect((await pool.acquireTogether(a, [numbers(blockTokens + 1)]))[0]!.ids).toEqual(numbers(blockTokens));
  });

  test("texts of one request that lose their place come back together", async () => {
    let recoveries = 0;
    const pool = new SequencePool({ sequences: 1, blocks: 2, maxWaiting: 1 }, undefined, () => recoveries);
    const group = await pool.acquireTogether(a, [[], []]);
    for (const sequence of group) extend(sequence, numbers(5));
    recoveries++;
    group[0]!.checkCache();
    expect(group.map(({ isParked }) => isParked)).toEqual([true, true]);
    const other = await pool.acquire(b);
    const back = Promise.all(group.map((sequence) => sequence.unpark(undefined)));
    pool.release(other);
    expect(await back).toEqual([numbers(5), numbers(5)]);
    for (const sequence of group) pool.release(sequence);
    pool.release(await pool.acquire(b));
  });

  test("a group that gives up waiting leaves no place taken", async () => {
    const pool = newPool(1, 2);
    const first = await pool.acquire(a);
    const leave = new AbortController();
    const group = pool.acquireTogether(b, [[], []], { signal: leave.signal });
    leave.abort(new Error("enough"));
    await expect(group).rejects.toThrow("enough");
    pool.release(first);
    for (const sequence of await pool.acquireTogether(b, [[], []])) pool.release(sequence);
    pool.release(await pool.acquire(a));
  });

  test("every token gets a slot of its own", async () => {
    const pool = newPool(2, 3);
    const [first, second] = [await pool.acquire(a), await pool.acquire(b)];
    const slots = [first, second, first, second].flatMap((sequence) => [...extend(sequence, numbers(blockTokens - 5))]);
    expect(new Set(slots).size).toBe(4 * (blockTokens - 5));
    expect(Math.max(...slots)).toBeLessThan(2 * 3 * blockTokens);
    for (const slot of first.slots(0, first.ids.length)) expect(first.blocks).toContain(Math.floor(slot / blockTokens));
  });

  test("an owner finds its cached tokens again, up to the first difference", async () => {
    const pool = newPool(1, 4);
    const ids = numbers(blockTokens + 10);
    const { slots } = await use(pool, a, ids);
    expect(await use(pool, a, [...ids, 7])).toMatchObject({ cached: ids.length });
    expect(await cachedOf(pool, a, [...ids.slice(0, -3), 8, 9])).toBe(ids.length - 3);
    expect(await cachedOf(pool, a, [...ids.slice(0, 5), 8])).toBe(5);
    // What followed the place is gone.
    expect(await use(pool, a, ids)).toMatchObject({ cached: 5, slots: expect.arrayContaining(slots.slice(0, 5)) });
  });

  test("full blocks are shared, and a partly filled block belongs to its owner", async () => {
    const pool = newPool(2, 4);
    const ids = numbers(2 * blockTokens + 9);
    const { slots } = await use(pool, a, ids);
    const other = await use(pool, b, [...ids, 1]);
    expect(other.cached).toBe(2 * blockTokens);
    expect(other.slots.slice(0, other.cached)).toEqual(slots.slice(0, other.cached));
    expect(new Set([...slots, ...other.slots]).size).toBe(2 * blockTokens + 9 + 10);
    expect(await use(pool, a, ids)).toEqual({ cached: ids.length, slots });
    // Someone else's text that ends within a block does not take that block away.
    expect(await cachedOf(pool, b, ids.slice(0, blockTokens + 4))).toBe(blockTokens);
    expect(await use(pool, a, ids)).toEqual({ cached: ids.length, slots });
  });

  test("a text is found whole where another one computed its beginning at the same time", async () => {
    const pool = newPool(2, 4);
    const ids = numbers(3 * blockTokens);
    const [one, two] = [await pool.acquire(a, ids), await pool.acquire(b, ids)];
    extend(one, ids.slice(0, blockTokens));
    extend(two, ids);
    pool.release(one);
    pool.release(two);
    expect(await cachedOf(pool, c, [...ids, 7])).toBe(ids.length);
  });

  test("a shared prefix stays unchanged while sequences continue it", async () => {
    const pool = newPool(2, 2);
    const ids = numbers(blockTokens);
    await use(pool, a, ids);
    const [one, two] = [await pool.acquire(a, ids), await pool.acquire(b, ids)];
    expect([...one.slots(0, 32)]).toEqual([...two.slots(0, 32)]);
    const [ofOne, ofTwo] = [extend(one, [1, 2]), extend(two, [3])];
    expect([...ofOne]).not.toContain(ofTwo[0]);
    // The owner goes back within the block that another one uses: it gets a block of its own.
    pool.release(one);
    expect((await pool.acquire(a, ids.slice(0, 20))).ids).toEqual([]);
    expect(two.ids).toEqual([...ids, 3]);
  });

  test("the least recently used ends of texts are evicted, and never blocks in use", async () => {
    const pool = newPool(2, 2);
    const textOf = (start: number): number[] => numbers(2 * blockTokens, start);
    await use(pool, a, textOf(0));
    await use(pool, b, textOf(1000));
    await use(pool, c, textOf(2000).slice(0, 1));
    expect(await cachedOf(pool, b, textOf(1000))).toBe(2 * blockTokens);
    expect(await cachedOf(pool, a, textOf(0))).toBe(blockTokens);
    const held = await pool.acquire(b, textOf(1000));
    for (let i = 3; i < 8; i++) await use(pool, c, textOf(1000 * i));
    expect(held.ids).toEqual(textOf(1000));
    expect(await cachedOf(pool, a, textOf(0))).toBe(0);
  });

  test("every sequence can be filled, regardless of what is cached", async () => {
    const pool = newPool(3, 5);
    for (let round = 0; round < 20; round++) {
      const sequences = await Promise.all([a, b, c].map((owner) => pool.acquire(owner, numbers((round * 13) % 140, round % 3))));
      for (const [i, sequence] of sequences.entries()) {
        while (sequence.ids.length < 5 * blockTokens) extend(sequence, [round * 3 + i]);
      }
      const slots = sequences.flatMap((sequence) => [...sequence.slots(0, 5 * blockTokens)]);
      expect(new Set(slots).size).toBeGreaterThan(0);
      for (const sequence of sequences) pool.release(sequence);
    }
  });

  test("free drops the owner's tokens, unless other texts continue them", async () => {
    const pool = newPool(2, 3);
    const ids = numbers(blockTokens + 3);
    await use(pool, a, ids);
    pool.free(a);
    expect(await cachedOf(pool, a, ids)).toBe(0);
    await use(pool, b, [...ids, 5]);
    pool.free(a);
    expect(await cachedOf(pool, b, [...ids, 5])).toBe(ids.length + 1);
    const held = await pool.acquire(b, ids);
    pool.free(b);
    expect(held.ids).toEqual(ids);
  });

  test("slots that were reserved but never filled are freed", async () => {
    const pool = newPool(1, 2);
    const sequence = await pool.acquire(a);
    extend(sequence, [1, 2, 3]);
    sequence.reserve(2 * blockTokens - 3);
    pool.release(sequence);
    expect((await pool.acquire(a, [1, 2, 3, 4])).ids).toEqual([1, 2, 3]);
  });
});

describe("a block that a text shares in part", () => {
  const ids = numbers(blockTokens + 9);
  const newCopyingPool = (sequences: number, blocks: number) => {
    const copier = new FakeSlotCopier();
    return { copier, pool: new SequencePool({ sequences, blocks, maxWaiting: 1 }, { slots: copier }) };
  };

  test("is copied up to the first difference, also while it is in use", async () => {
    const { pool, copier } = newCopyingPool(2, 3);
    const first = await pool.acquire(a);
    const from = [...extend(first, ids)].slice(blockTokens);
    const second = await pool.acquire(b, [...ids.slice(0, -2), 7]);
    expect(second.ids).toEqual(ids.slice(0, -2));
    expect(copier.copied).toEqual([from.slice(0, -2), [...second.slots(blockTokens, 7)]]);
    // Both go on in blocks of their own.
    const slots = [...extend(first, [8]), ...extend(second, [7])];
    expect(new Set([...slots, ...from, ...second.slots(blockTokens, 7)]).size).toBe(2 + 9 + 7);
    expect(second.ids).toEqual([...ids.slice(0, -2), 7]);
  });

  test("is not copied if the text's owner has as many of its tokens", async () => {
    const { pool, copier } = newCopyingPool(2, 6);
    await use(pool, a, ids);
    await use(pool, b, ids);
    expect(copier.copied).toHaveLength(2);
    expect(await cachedOf(pool, b, [...ids, 1])).toBe(ids.length);
    expect(copier.copied).toHaveLength(2);
    // Another text has more of them.
    expect(await cachedOf(pool, a, [...ids, 1, 2])).toBe(ids.length + 1);
    expect(copier.copied).toHaveLength(4);
  });

  test("is computed if only its own memory is left for a copy", async () => {
    const { pool, copier } = newCopyingPool(1, 2);
    await use(pool, a, ids);
    expect(await cachedOf(pool, b, [...ids, 1])).toBe(blockTokens);
    expect(copier.copied).toEqual([]);
  });

  test("is computed if the adapters differ, or if it is private", async () => {
    const { pool, copier } = newCopyingPool(2, 6);
    const scope = {};
    const restored = await pool.acquire(a, ids, { scope });
    restored.distrust();
    extend(restored, ids);
    pool.release(restored);
    expect(await cachedOf(pool, b, [...ids, 1])).toBe(0);
    expect(copier.copied).toEqual([]);
    const within = await pool.acquire(c, ids, { scope });
    expect(within.ids).toEqual(ids);
    extend(within, [1]);
    pool.release(within);
    expect((await pool.acquire(b, [...ids, 1, 2])).ids).toHaveLength(ids.length + 1);
  });

  test("is private from then on if a snapshot goes on in the copy", async () => {
    const { pool } = newCopyingPool(2, 6);
    const scope = {};
    await use(pool, a, ids);
    const restored = await pool.acquire(b, ids, { scope });
    expect(restored.ids).toEqual(ids);
    restored.distrust();
    extend(restored, [1, 2, 3]);
    pool.release(restored);
    expect(await cachedOf(pool, c, [...ids, 1, 2, 3])).toBe(ids.length);
  });
});

describe("scoped blocks", () => {
  const scope = {};
  const ids = numbers(2 * blockTokens + 5);

  /** Writes untrusted tokens, as restoring a session does. */
  async function restore(pool: SequencePool, owner: object): Promise<void> {
    const sequence = await pool.acquire(owner, ids, { scope });
    sequence.distrust();
    extend(sequence, ids.slice(sequence.ids.length));
    pool.release(sequence);
  }

  const found = async (pool: SequencePool, owner: object, of?: object): Promise<number> => {
    const sequence = await pool.acquire(owner, ids, { scope: of });
    const { length } = sequence.ids;
    pool.release(sequence);
    return length;
  };

  test("are found only by sequences of the scope", async () => {
    const pool = newPool(2, 6);
    await restore(pool, a);
    expect(await found(pool, b)).toBe(0);
    expect(await found(pool, b, {})).toBe(0);
    expect(await found(pool, b, scope)).toBe(2 * blockTokens);
    expect(await found(pool, a, scope)).toBe(ids.length);
    // Not even by their owner without the scope, because a snapshot with a key must not contain them.
    expect(await found(pool, a)).toBe(0);
  });

  test("make the tokens that are computed after them scoped, too", async () => {
    const pool = newPool(2, 6);
    await restore(pool, a);
    const longer = [...ids, ...numbers(2 * blockTokens, 900)];
    const sequence = await pool.acquire(a, longer, { scope });
    extend(sequence, longer.slice(sequence.ids.length));
    pool.release(sequence);
    expect((await pool.acquire(b, longer)).ids).toEqual([]);
    expect((await pool.acquire(b, longer, { scope })).ids).toHaveLength(4 * blockTokens);
  });

  test("are not used if unscoped blocks hold the text, and the continuation is shared", async () => {
    const pool = newPool(2, 6);
    await use(pool, b, ids.slice(0, 2 * blockTokens));
    const sequence = await pool.acquire(a, ids, { scope });
    expect(sequence.ids).toHaveLength(2 * blockTokens);
    extend(sequence, numbers(blockTokens, 700));
    pool.release(sequence);
    expect((await pool.acquire(c, [...ids.slice(0, 2 * blockTokens), ...numbers(blockTokens, 700)])).ids).toHaveLength(3 * blockTokens);
  });
});
