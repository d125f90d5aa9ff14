import { afterEach, expect, test, vi } from "vitest";
import { DawnPolling } from "../../src/device/polling.ts";

afterEach(() => void vi.useRealTimers());

/** Dawn as far as polls go: it asks for one after the other as long as anything is pending. */
class FakeDawn {
  polls: number[] = [];
  readonly #now: () => number;
  readonly #doneAt: number;
  #isAsked = false;

  constructor(now: () => number, doneAt: number) {
    this.#now = now;
    this.#doneAt = doneAt;
  }

  wait(): void {
    this.#ask();
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    globalThis.setImmediate(() => {
      this.#isAsked = false;
      this.polls.push(this.#now());
      if (this.#now() < this.#doneAt) this.#ask();
    });
  }
}

/** Polls of work that takes `duration` ms, where a turn of the event loop takes 5 µs. */
async function pollsOf(duration: number): Promise<{ readonly polls: readonly number[]; readonly slept: number }> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  let [now, slept] = [0, 0];
  const polling = new DawnPolling(
    {},
    {
      now: () => {
        now += 0.0025;
        return now;
      },
      sleep: (time) => {
        now += time;
        slept += time;
      },
    },
  );
  const dawn = new FakeDawn(() => now, duration);
  polling.call(() => dawn.wait());
  while ((dawn.polls.at(-1) ?? 0) < duration) {
    await new Promise((resolve) => setImmediate(resolve));
    if (vi.getTimerCount() > 0) {
      const before = Date.now();
      vi.advanceTimersToNextTimer();
      now += Date.now() - before;
    }
  }
  return { polls: dawn.polls, slept };
}

test("short work is polled for in every turn of the event loop", async () => {
  const { polls, slept } = await pollsOf(0.05);
  expect(polls.at(-1)).toBeLessThan(0.08);
  expect(slept).toBe(0);
});

test("longer work is polled for ever more rarely, and found within a sixteenth of its time", async () => {
  for (const duration of [0.5, 3, 40]) {
    const { polls } = await pollsOf(duration);
    expect(polls.at(-1)! / duration).toBeLessThan(1.1);
    expect(polls.length).toBeLessThan(120);
    vi.useRealTimers();
  }
  const { slept } = await pollsOf(3);
  expect(slept).toBeGreaterThan(0.5);
});

test("polls within a call find what is done, and others follow for what is not", async () => {
  let now = 0;
  const polling = new DawnPolling({}, { now: () => now, sleep: () => undefined });
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const done = new FakeDawn(() => now, 1);
  polling.call(() => done.wait());
  now = 1;
  polling.pollAtOnce();
  expect(done.polls).toEqual([1]);
  for (let i = 0; i < 3; i++) await turn();
  polling.pollAtOnce();
  expect(done.polls).toEqual([1]);
  now = 2;
  const pending = new FakeDawn(() => now, 3);
  polling.call(() => pending.wait());
  polling.pollAtOnce();
  const { length } = pending.polls;
  expect(length).toBeGreaterThan(1);
  expect(length).toBeLessThan(10);
  now = 3;
  await turn();
  expect(pending.polls.slice(length)).toEqual([3]);
});

test("setImmediate is replaced only while Dawn is called", () => {
  const original = globalThis.setImmediate;
  const polling = new DawnPolling({});
  expect(polling.call(() => globalThis.setImmediate)).not.toBe(original);
  expect(globalThis.setImmediate).toBe(original);
  expect(() =>
    polling.call(() => {
      throw new TypeError("lost");
    }),
  ).toThrow("lost");
  expect(globalThis.setImmediate).toBe(original);
});
