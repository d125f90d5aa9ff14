import { DisposedError } from "@centella/core";
import { expect, test, vi } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import { contextLength, feed, sampling, setUp, turns } from "./fakeScheduler.ts";

test("runs are queued with the tokens of the runs before, which the host does not know yet", async () => {
  const { scheduler, runs, pool } = setUp(3);
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4, 5], 9);
  await turns();
  expect(runs).toHaveLength(3);
  const block = sequence.blocks[0]!;
  const slot = (position: number): number => block * blockTokens + position;
  expect(runs[0]!.inputs).toMatchObject({
    tokens: [4, 5],
    positions: [0, 1],
    slots: [slot(0), slot(1)],
    seqLens: [2],
    chosenBlocks: [block],
  });
  expect(runs[1]!.inputs).toMatchObject({ tokens: [-1], tokenBlocks: [block], positions: [2], slots: [slot(2)], seqLens: [3] });
  expect(runs[2]!.inputs).toMatchObject({ tokens: [-1], tokenBlocks: [block], positions: [3], slots: [slot(3)], seqLens: [4] });
  runs[0]!.end(6);
  expect(await first).toBe(6);
  expect(sequence.ids).toEqual([4, 5]);
  expect(runs).toHaveLength(3);
  const second = feed(scheduler, sequence, [6], 8);
  await turns();
  expect(runs).toHaveLength(4);
  runs[1]!.end(7);
  expect(await second).toBe(7);
  expect(sequence.ids).toEqual([4, 5, 6]);
});

test("a run that is over when its token is fed answers at once", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 3);
  await turns();
  runs[0]!.end(6);
  runs[1]!.end(7);
  await first;
  await turns();
  expect(await feed(scheduler, sequence, [6], 2)).toBe(7);
  expect(sequence.ids).toEqual([4, 6]);
});

test.each([
  ["that computes on another thread, the event loop is not waited for", true],
  ["that computes on this thread, the event loop runs after a while", false],
])("between the runs of a backend %s", async (_, isElsewhere) => {
  const { scheduler, runs, pool } = setUp(1);
  const sequence = await pool.acquire({});
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  const microtasks = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
  };
  try {
    const first = feed(scheduler, sequence, [4], 0);
    await turns();
    runs[0]!.end(6);
    await first;
    const second = feed(scheduler, sequence, [6], 0);
    await microtasks();
    expect(runs).toHaveLength(2);
    now += 50;
    if (isElsewhere) await turns();
    runs[1]!.end(7);
    await second;
    const third = feed(scheduler, sequence, [7], 0);
    await microtasks();
    expect(runs).toHaveLength(isElsewhere ? 3 : 2);
    await turns();
    expect(runs).toHaveLength(3);
    runs[2]!.end(8);
    await third;
  } finally {
    clock.mockRestore();
  }
});

test("each row of a draft has a mask of its own, and only the chosen tokens are read", async () => {
  const { scheduler, runs, pool, read } = setUp(1);
  const masks = [0b1, 0b10, 0b100].map((bits) => Uint32Array.of(bits));
  const choice = { sampling, position: 30, masks };
  const chosen = scheduler.feedChoosing(await pool.acquire({}), [6, 7, 8], { rows: "all", isDraft: true }, choice);
  await turns();
  expect(runs[0]!.inputs).toMatchObject({ tokens: [6, 7, 8], drawPositions: [30, 31, 32], masks: [1, 2, 4], maskRows: [0, 1, 2] });
  runs[0]!.end(7, 8, 9);
  expect([...(await chosen)]).toEqual([7, 8, 9]);
  expect(read).toEqual([["chosen", 12]]);
});

test("runs have the options of each row, and those made ahead the next positions", async () => {
  const { scheduler, runs, pool } = setUp(2);
  void feed(scheduler, await pool.acquire({}), [4, 5], 9);
  const mask = Uint32Array.of(0b11);
  void feed(scheduler, await pool.acquire({}), [6], 0, { position: 30, masks: [mask], sampling: { ...sampling, seed: [3, 0], topK: 2 } });
  void scheduler.feed(await pool.acquire({}), [7], { rows: "last" });
  await turns();
  expect(runs).toHaveLength(1);
  const choices = runs[0]!.inputs;
  // Rows come in the order of their numbers of tokens. The row whose logits are read takes the greatest one.
  expect(choices).toMatchObject({
    tokens: [6, 7, 4, 5],
    drawPositions: [30, 0, 2],
    seeds: [3, 0, 0, 0, 7, 1],
    temperatures: [0.5, 0, 0.5],
    topKs: [2, 0, 40],
    topPs: [0.75, 1, 0.75],
    minPs: [0.25, 0, 0.25],
    masks: [0b11],
    maskRows: [0, -1, -1],
    readRows: [1],
  });
  const alone = setUp(2);
  void feed(alone.scheduler, await alone.pool.acquire({}), [4, 5], 9);
  await turns();
  expect(alone.runs.map(({ inputs }) => inputs.drawPositions)).toEqual([[2], [3]]);
  expect(alone.runs[1]!.inputs).toMatchObject({ seeds: [7, 1], topKs: [40], masks: [], maskRows: [-1] });
});

test("a chosen token is all that is read back: 4 bytes", async () => {
  const { scheduler, runs, pool, read } = setUp(1);
  const token = feed(scheduler, await pool.acquire({}), [4], 0);
  await turns();
  runs[0]!.end(6);
  await token;
  expect(read).toEqual([["chosen", 4]]);
});

test("what was computed ahead is dropped if the next token is to be chosen in another way", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 9);
  await turns();
  runs[0]!.end(6);
  await first;
  const other = feed(scheduler, sequence, [6], 0, { sampling: { ...sampling, temperature: 2 } });
  await turns();
  runs[1]!.end(7);
  await turns();
  expect(runs[2]!.inputs).toMatchObject({ tokens: [6], temperatures: [2] });
  runs[2]!.end(8);
  expect(await other).toBe(8);
});

test("no more tokens are computed ahead than may follow, or than the context holds", async () => {
  const few = setUp(4);
  void feed(few.scheduler, await few.pool.acquire({}), [4], 1);
  await turns();
  expect(few.runs).toHaveLength(2);
  const none = setUp(4);
  void feed(none.scheduler, await none.pool.acquire({}), [4], 0);
  await turns();
  expect(none.runs).toHaveLength(1);
  const full = setUp(4);
  const sequence = await full.pool.acquire({});
  sequence.reserve(contextLength - 2);
  sequence.append(Array.from({ length: contextLength - 2 }, () => 1));
  void feed(full.scheduler, sequence, [4], 9);
  await turns();
  expect(full.runs.map(({ inputs }) => inputs.positions)).toEqual([[contextLength - 2], [contextLength - 1]]);
  expect(full.runs[1]!.inputs.chosenBlocks).toEqual([-1]);
});

test("another token than the chosen one drops what was computed ahead, and its slots are written again", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 9);
  await turns();
  runs[0]!.end(6);
  await first;
  const other = feed(scheduler, sequence, [8], 0);
  await turns();
  expect(runs[2]!.inputs).toMatchObject({ tokens: [8], positions: [1], slots: runs[1]!.inputs.slots });
  runs[1]!.end(7);
  runs[2]!.end(9);
  expect(await other).toBe(9);
  expect(sequence.ids).toEqual([4, 8]);
});

test("a released sequence has no further runs", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const [ended, other] = [await pool.acquire({}), await pool.acquire({})];
  const first = feed(scheduler, ended, [4], 9);
  await turns();
  runs[0]!.end(6);
  await first;
  pool.release(ended);
  const next = feed(scheduler, other, [5], 0);
  await turns();
  runs[1]!.end(7);
  await turns();
  expect(runs).toHaveLength(3);
  expect(runs[2]!.inputs.tokens).toEqual([5]);
  runs[2]!.end(8);
  expect(await next).toBe(8);
});

test("sequences that decode together share every run", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const [one, two] = [await pool.acquire({}), await pool.acquire({})];
  const firsts = [feed(scheduler, one, [4], 9), feed(scheduler, two, [5], 9)];
  await turns();
  for (let step = 0; step < 3; step++) {
    runs[step]!.end(6, 7);
    await turns();
    const seconds = [feed(scheduler, one, [6], 8 - step), feed(scheduler, two, [7], 8 - step)];
    await turns();
    expect(runs).toHaveLength(step + 3);
    if (step === 0) await Promise.all(firsts);
    void seconds;
  }
  for (const { inputs } of runs) expect(inputs.seqLens).toHaveLength(2);
});

test("a run that fails rejects its request and drops the runs after it", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 9);
  await turns();
  runs[0]!.fail(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  runs[1]!.end(7);
  await turns();
  const again = feed(scheduler, sequence, [4], 0);
  await turns();
  expect(runs[2]!.inputs).toMatchObject({ tokens: [4], positions: [0] });
  runs[2]!.end(6);
  expect(await again).toBe(6);
});

test("a result that cannot be kept rejects its request, and the run after it answers the others", async () => {
  const { scheduler, runs, pool } = setUp(2);
  const [broken, other] = [await pool.acquire({}), await pool.acquire({})];
  const first = feed(scheduler, broken, [4], 9);
  await turns();
  const joining = feed(scheduler, other, [5], 0);
  runs[0]!.end(6);
  await first;
  const second = feed(scheduler, broken, [6], 8);
  await turns();
  expect(runs[2]!.inputs.seqLens).toHaveLength(2);
  vi.spyOn(broken, "append").mockImplementation(() => {
    throw new Error("full");
  });
  runs[1]!.end(7);
  await expect(second).rejects.toThrow("full");
  runs[2]!.end(8, 8);
  expect(await joining).toBe(8);
});

test("after the model is disposed of, queued runs end, no other is submitted, and later tokens are refused", async () => {
  const { scheduler, runs, pool } = setUp(3);
  const [sequence, other] = [await pool.acquire({}), await pool.acquire({})];
  const first = feed(scheduler, sequence, [4], 9);
  await turns();
  expect(runs).toHaveLength(3);
  const waiting = feed(scheduler, other, [5], 9);
  scheduler.refuse();
  runs[0]!.end(6);
  expect(await first).toBe(6);
  await expect(feed(scheduler, sequence, [6], 8)).rejects.toThrow(DisposedError);
  await expect(waiting).rejects.toThrow(DisposedError);
  for (const run of runs.slice(1)) run.end(7);
  await turns();
  expect(runs).toHaveLength(3);
});

test("an abort drops what was computed ahead, and the sequence keeps the tokens that were fed before", async () => {
  const { scheduler, runs, pool } = setUp(3);
  const sequence = await pool.acquire({});
  const controller = new AbortController();
  const choice = { sampling, position: 1 };
  const first = scheduler.feedChoosing(sequence, [4], { rows: "last", following: 9, signal: controller.signal }, choice);
  await turns();
  runs[0]!.end(6);
  await first;
  const second = scheduler.feedChoosing(
    sequence,
    [6],
    { rows: "last", following: 8, signal: controller.signal },
    { sampling, position: 2 },
  );
  const reason = new Error("enough");
  controller.abort(reason);
  runs[1]!.fail(reason);
  await expect(second).rejects.toBe(reason);
  for (const run of runs.slice(2)) run.fail(reason);
  await turns();
  expect(sequence.ids).toEqual([4]);
  const count = runs.length;
  const again = feed(scheduler, sequence, [8], 0);
  await turns();
  expect(runs[count]!.inputs).toMatchObject({ tokens: [8], positions: [1] });
  runs[count]!.end(9);
  expect(await again).toBe(9);
});

test("an aborted request that waits for a run is rejected at once, and the others go on", async () => {
  const { scheduler, runs, pool } = setUp(1);
  const running = feed(scheduler, await pool.acquire({}), [4], 0);
  await turns();
  const controller = new AbortController();
  const { signal } = controller;
  const aborted = await pool.acquire({});
  const waiting = scheduler.feed(aborted, [5], { rows: "last", signal });
  const other = feed(scheduler, await pool.acquire({}), [7], 0);
  await turns();
  expect(runs).toHaveLength(1);
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(scheduler.feed(aborted, [6], { rows: "last", signal })).rejects.toBe(reason);
  runs[0]!.end(6);
  expect(await running).toBe(6);
  await turns();
  expect(runs.map(({ inputs }) => inputs.tokens)).toEqual([[4], [7]]);
  runs[1]!.end(8);
  expect(await other).toBe(8);
});

test("more tokens than the context has room for are refused", async () => {
  const { scheduler, pool } = setUp(1);
  const ids = new Array<number>(contextLength + 1).fill(4);
  await expect(scheduler.feed(await pool.acquire({}), ids, { rows: "last" })).rejects.toThrow(
    /^feed: expected at most 64 tokens, got 65; shorten the text/,
  );
});

test("no run is queued after one that computes a part of a prompt", async () => {
  const { scheduler, runs, pool } = setUp(4);
  const ones = Array.from({ length: 12 }, () => 1);
  const prompt = scheduler.feed(await pool.acquire({}), ones, { rows: "none" });
  const other = feed(scheduler, await pool.acquire({}), [4], 9);
  await turns();
  expect(runs.map(({ inputs }) => inputs.tokens)).toEqual([[4, ...ones.slice(0, 7)]]);
  runs[0]!.end(6);
  expect(await other).toBe(6);
  await turns();
  expect(runs[1]!.inputs.tokens).toEqual([6, ...ones.slice(0, 5)]);
  runs[1]!.end(7);
  await prompt;
});
