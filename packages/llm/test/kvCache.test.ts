import { describe, expect, test } from "vitest";
import { BusyError } from "../src/errors.ts";
import { commonPrefix, SequencePool } from "../src/kvCache.ts";

describe("SequencePool", () => {
  test("an owner finds its tokens again while there is a free sequence for others", () => {
    const pool = new SequencePool(2);
    const [a, b] = [{}, {}];
    const first = pool.acquire(a);
    first.ids.push(1, 2, 3);
    pool.release(first);
    const second = pool.acquire(b);
    expect(second.index).not.toBe(first.index);
    pool.release(second);
    expect(pool.acquire(a)).toBe(first);
    expect(first.ids).toEqual([1, 2, 3]);
  });

  test("the least recently used idle sequence is taken over, empty", () => {
    const pool = new SequencePool(2);
    const [a, b, c] = [{}, {}, {}];
    const ofA = pool.acquire(a);
    const ofB = pool.acquire(b);
    ofA.ids.push(1);
    ofB.ids.push(2);
    pool.release(ofB);
    pool.release(ofA);
    expect(pool.acquire(c)).toBe(ofB);
    expect(ofB.ids).toEqual([]);
    expect(pool.acquire(a).ids).toEqual([1]);
  });

  test("all in use is an error, not a wait", () => {
    const pool = new SequencePool(1);
    const sequence = pool.acquire({});
    expect(() => pool.acquire({})).toThrow(BusyError);
    expect(() => pool.acquire({})).toThrow(/1 of 1 in use/);
    pool.release(sequence);
    expect(pool.acquire({})).toBe(sequence);
  });

  test("free forgets the owner's tokens, unless they are in use", () => {
    const pool = new SequencePool(1);
    const owner = {};
    const sequence = pool.acquire(owner);
    sequence.ids.push(1);
    pool.free(owner);
    expect(sequence.ids).toEqual([1]);
    pool.release(sequence);
    pool.free(owner);
    expect(pool.acquire(owner).ids).toEqual([]);
  });
});

test.each([
  [[], [1], 0],
  [[1, 2], [1, 2, 3], 2],
  [[1, 2, 3], [1, 5, 3], 1],
  [[4], [5], 0],
])("commonPrefix(%j, %j) = %i", (a, b, length) => {
  expect(commonPrefix(a, b)).toBe(length);
});
