import { expect, test, vi } from "vitest";
import { Permit } from "../src/admission/admission.ts";
import { Prefills } from "../src/generation/prefills.ts";
import { post, TestModel } from "./serving.ts";

const beginning = "Once upon a time a fox met an owl. ".repeat(30);
const never = new AbortController().signal;
const permit = (): Permit => new Permit(0, () => undefined);

/** Whether a promise has settled, after the others had their turn. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let hasSettled = false;
  void promise.then(() => {
    hasSettled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return hasSettled;
}

test("requests at the same time compute a common beginning once", async () => {
  const served = await TestModel.load({ batchSize: 32 });
  const handler = served.handler();
  const answers = await Promise.all(
    ["fox", "owl", "hen", "cat"].map(async (animal) => {
      const messages = [{ role: "user", content: `${beginning}Tell me of the ${animal}.` }];
      const response = await post(handler, "/v1/chat/completions", { messages, max_tokens: 1 });
      return (await response.json()) as { usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } } };
    }),
  );
  const computed = answers.map(({ usage }) => usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens);
  const [first = 0, ...others] = computed.toSorted((a, b) => b - a);
  expect(first).toBeGreaterThan(200);
  // Blocks have 32 tokens: a beginning is shared up to its last whole block.
  for (const own of others) expect(own).toBeLessThan(64);
  await served[Symbol.asyncDispose]();
});

test("a prompt waits until the common part of the closest earlier one is in the cache", async () => {
  const prefills = new Prefills();
  const short = await prefills.begin(`${beginning}a`, permit(), never);
  const long = prefills.begin(`${beginning}${beginning}b`, permit(), never);
  const other = await prefills.begin("Something else.", permit(), never);
  expect(await isSettled(long)).toBe(false);
  short.record({ type: "prefill", done: 1, total: 2 });
  expect(await isSettled(long)).toBe(false);
  short.record({ type: "prefill", done: 2, total: 2 });
  expect(await isSettled(long)).toBe(true);
  // Half of the longer one is common to both.
  const last = prefills.begin(`${beginning}c`, permit(), never);
  (await long).record({ type: "prefill", done: 1, total: 4 });
  expect(await isSettled(last)).toBe(false);
  (await long).record({ type: "prefill", done: 2, total: 4 });
  expect(await isSettled(last)).toBe(true);
  prefills.end(other);
});

test("a text that ends, and one that nobody reads, hold up no other", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const prefills = new Prefills();
  const first = await prefills.begin(`${beginning}a`, permit(), never);
  const second = prefills.begin(`${beginning}b`, permit(), never);
  prefills.end(first);
  expect(await isSettled(second)).toBe(true);
  const paused = permit();
  prefills.end(await second);
  await prefills.begin(`${beginning}c`, paused, never);
  const third = prefills.begin(`${beginning}d`, permit(), never);
  paused.pause();
  await vi.advanceTimersByTimeAsync(249);
  expect(await isSettled(third)).toBe(false);
  await vi.advanceTimersByTimeAsync(250);
  expect(await isSettled(third)).toBe(true);
  vi.useRealTimers();
});

test("a client that leaves while it waits is not waited for", async () => {
  const prefills = new Prefills();
  const first = await prefills.begin(`${beginning}a`, permit(), never);
  const leaving = new AbortController();
  const second = prefills.begin(`${beginning}b`, permit(), leaving.signal);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  first.advance(1);
  const third = prefills.begin(`${beginning}bc`, permit(), never);
  expect(await isSettled(third)).toBe(true);
});
