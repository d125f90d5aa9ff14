import { expect, test } from "vitest";
import { ReadAhead } from "../src/generation/readAhead.ts";

/** Counts what is computed and whether the generator was closed. */
function source(count: number) {
  const state = { computed: 0, isClosed: false };
  async function* parts(): AsyncGenerator<number, void, undefined> {
    try {
      while (state.computed < count) yield ++state.computed;
      throw new Error("no more");
    } finally {
      state.isClosed = true;
    }
  }
  return { state, parts: parts() };
}

test("one part is computed while the reader has the one before, and no more", async () => {
  const { state, parts } = source(9);
  const noted: number[] = [];
  const ahead = new ReadAhead(parts, (part) => noted.push(part) > 0);
  expect(await ahead.next()).toEqual({ done: false, value: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(state.computed).toBe(2);
  expect(noted).toEqual([1]);
  expect(await ahead.next()).toEqual({ done: false, value: 2 });
  await ahead.return();
  expect(state).toEqual({ computed: 3, isClosed: true });
});

test("a part that the reader has to ask for is computed then", async () => {
  const { state, parts } = source(9);
  const ahead = new ReadAhead(parts, (part) => part > 1);
  await ahead.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(state.computed).toBe(1);
  await ahead.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(state.computed).toBe(3);
  await ahead.return();
});

test("the reader gets an error after the parts before it", async () => {
  const { parts } = source(2);
  const read: number[] = [];
  const reading = (async () => {
    for await (const part of new ReadAhead(parts, () => true)) {
      read.push(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await expect(reading).rejects.toThrow("no more");
  expect(read).toEqual([1, 2]);
});

test("a part that is refused ends the text before the next one is computed", async () => {
  const { state, parts } = source(9);
  const ahead = new ReadAhead(parts, () => {
    throw new Error("too long");
  });
  await expect(ahead.next()).rejects.toThrow("too long");
  expect(state).toEqual({ computed: 1, isClosed: true });
});
