import { DisposedError } from "@centella/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import { pauseMs } from "../src/cache/sequencePool.ts";
import { BusyError } from "../src/errors.ts";
import { a, b, c, extend, newPool, numbers } from "./sequencePools.ts";

describe("requests beyond the sequences", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("wait, and are served in the order of the calls", async () => {
    const pool = newPool(1, 1);
    const served: number[] = [];
    const request = async (number: number): Promise<void> => {
      const sequence = await pool.acquire({});
      served.push(number);
      await Promise.resolve();
      pool.release(sequence);
    };
    await Promise.all(numbers(5).map(request));
    expect(served).toEqual(numbers(5));
  });

  test("leave the queue when they are aborted", async () => {
    const pool = newPool(1, 1, 2);
    const first = await pool.acquire(a);
    const controller = new AbortController();
    const aborted = pool.acquire(b, [], { signal: controller.signal });
    const last = pool.acquire(c);
    controller.abort("changed my mind");
    await expect(aborted).rejects.toBe("changed my mind");
    await expect(pool.acquire(b, [], { signal: controller.signal })).rejects.toBe("changed my mind");
    // There is room for another one in its place.
    const another = pool.acquire(b);
    pool.release(first);
    pool.release(await last);
    pool.release(await another);
  });

  test("are refused if the queue is full, with its numbers", async () => {
    const pool = newPool(2, 1, 1);
    const held = [await pool.acquire(a), await pool.acquire(b)];
    const waiting = pool.acquire(c);
    const refused = await pool.acquire(c).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BusyError);
    expect(refused).toMatchObject({ code: "busy", running: 2, waiting: 1, maxWaiting: 1 });
    expect((refused as BusyError).message).toMatch(/at most 1 requests in the queue, got 1 and one more, with 2 running; .*queue\.max/);
    for (const sequence of held) pool.release(sequence);
    pool.release(await waiting);
    const none = newPool(1, 1, 0);
    await none.acquire(a);
    await expect(none.acquire(a)).rejects.toThrow(/at most 0 requests/);
  });

  test("end with the model", async () => {
    const pool = newPool(1, 1);
    await pool.acquire(a);
    const waiting = [pool.acquire(b), pool.acquire(c)];
    pool.dispose();
    for (const one of [...waiting, pool.acquire(a)]) await expect(one).rejects.toBeInstanceOf(DisposedError);
  });

  test("get the sequence of an unread stream, which returns in its turn", async () => {
    vi.useFakeTimers();
    const pool = newPool(1, 3);
    const stream = await pool.acquire(a);
    extend(stream, numbers(40));
    pool.pause(stream);
    const waiting = pool.acquire(b);
    await vi.advanceTimersByTimeAsync(2 * pauseMs);
    const other = await waiting;
    expect(stream.isParked).toBe(true);
    expect(stream.ids).toEqual(numbers(40));
    // What it held is cached while there is room.
    extend(other, numbers(10, 500));
    pool.resume(stream);
    const back = stream.unpark(undefined);
    pool.release(other);
    expect(await back).toEqual([]);
    expect(stream.ids).toEqual(numbers(40));
    extend(stream, [7]);
    pool.release(stream);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("may evict its blocks, so that its tokens are computed again", async () => {
    vi.useFakeTimers();
    const pool = newPool(1, 2);
    const stream = await pool.acquire(a);
    extend(stream, numbers(40));
    pool.pause(stream);
    vi.advanceTimersByTime(pauseMs);
    // The stream was paused for long enough, so the request does not wait.
    const other = await pool.acquire(b);
    extend(other, numbers(2 * blockTokens, 500));
    pool.release(other);
    expect(await stream.unpark(undefined)).toEqual(numbers(40));
    expect(stream.ids).toEqual([]);
    extend(stream, numbers(41));
    pool.release(stream);
  });

  test("do not park streams that are read, even slowly", async () => {
    vi.useFakeTimers();
    const pool = newPool(1, 2);
    const stream = await pool.acquire(a);
    const waiting = pool.acquire(b);
    for (let i = 0; i < 20; i++) {
      pool.pause(stream);
      await vi.advanceTimersByTimeAsync(pauseMs - 1);
      pool.resume(stream);
    }
    expect(stream.isParked).toBe(false);
    pool.release(stream);
    await waiting;
  });

  test("a parked sequence can restart, end, and be released", async () => {
    const pool = newPool(1, 2);
    const text = await pool.acquire(a);
    extend(text, numbers(40));
    const waiting = pool.acquire(b);
    pool.next(text);
    expect(text.isParked).toBe(true);
    text.restart([1, 2]);
    expect(text.ids).toEqual([1, 2]);
    const other = await waiting;
    pool.release(text);
    pool.release(other);
    // One permit, and it is there.
    await pool.acquire(a);
  });

  test("the draft of a parked sequence must be computed again", async () => {
    const pool = newPool(1, 2);
    const text = await pool.acquire(a);
    extend(text, [1, 2, 3]);
    text.beginDraft();
    text.reserve(3);
    text.park();
    expect(text.acceptDraft([4, 5, 6], 2)).toEqual([4, 5]);
    expect(text.ids).toEqual([1, 2, 3]);
  });
});
