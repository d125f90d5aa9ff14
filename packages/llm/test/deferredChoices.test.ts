import { OutOfMemoryError } from "@centella/core";
import { expect, test } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import { begun, choose, kinds, last, mask, ready } from "./deferredRuns.ts";
import { contextLength, feed, sampling, setUp, turns } from "./fakeScheduler.ts";

test("the next token is computed before its mask is known, and the one after it right behind its choice", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const sequence = await pool.acquire({});
  const first = choose(scheduler, sequence, 4, 9, 0b1000000);
  await turns();
  const block = sequence.blocks[0]!;
  expect(kinds(runs)).toEqual(["model", "keeping"]);
  expect(runs[0]!.inputs).toMatchObject({ tokens: [4], masks: [0b1000000], maskRows: [0], chosenBlocks: [block] });
  expect(runs[1]!.inputs).toMatchObject({
    tokens: [-1],
    tokenBlocks: [block],
    positions: [1],
    slots: [block * blockTokens + 1],
    keptTo: [0],
    chosenRows: [],
    masks: [],
  });
  runs[0]!.end(6);
  expect(await first).toBe(6);
  await turns();
  expect(runs).toHaveLength(2);

  const second = choose(scheduler, sequence, 6, 8, 0b10000000);
  await turns();
  expect(kinds(runs)).toEqual(["model", "keeping", "choice", "keeping"]);
  expect(runs[2]!.inputs).toMatchObject({ rows: [0], masks: [0b10000000], maskRows: [0], drawPositions: [2], chosenBlocks: [block] });
  expect(runs[3]!.inputs).toMatchObject({ tokens: [-1], positions: [2], keptTo: [0] });
  runs[1]!.end();
  runs[2]!.end(7);
  expect(await second).toBe(7);
  expect(sequence.ids).toEqual([4, 6]);
});

test("no more tokens are computed ahead than may follow, or than the context holds", async () => {
  const set = setUp(3, ready);
  const sequence = await begun(set, 6, 1);
  void choose(set.scheduler, sequence, 6, 0, 0b1);
  await turns();
  expect(kinds(set.runs)).toEqual(["model", "keeping", "choice"]);
  expect(last(set.runs).inputs.chosenBlocks).toEqual([-1]);

  const full = setUp(3, ready);
  const long = await full.pool.acquire({});
  long.reserve(contextLength - 1);
  long.append(Array.from({ length: contextLength - 1 }, () => 1));
  void choose(full.scheduler, long, 4, 9, 0b1);
  await turns();
  expect(kinds(full.runs)).toEqual(["model"]);
});

test("sequences under masks and without share runs, and their tokens are chosen together", async () => {
  const set = setUp(2, ready);
  const { scheduler, runs, pool } = set;
  const [free, one, two] = [await pool.acquire({}), await pool.acquire({}), await pool.acquire({})];
  const firsts = [
    feed(scheduler, free, [3], 9),
    feed(scheduler, one, [4], 9, { masks: mask(0b1) }),
    feed(scheduler, two, [5], 9, { masks: mask(0b10) }),
  ];
  await turns();
  expect(runs[0]!.inputs).toMatchObject({ tokens: [3, 4, 5], maskRows: [-1, 0, 1] });
  // The free sequence's token is chosen by the run itself.
  expect(runs[1]!.inputs).toMatchObject({ tokens: [-1, -1, -1], keptTo: [-1, 0, 1], chosenRows: [0], maskRows: [-1] });
  runs[0]!.end(6, 7, 8);
  await Promise.all(firsts);
  const seconds = [
    feed(scheduler, free, [6], 8),
    feed(scheduler, one, [7], 8, { masks: mask(0b100) }),
    feed(scheduler, two, [8], 8, { masks: mask(0b1000) }),
  ];
  await turns();
  expect(runs[2]!.inputs).toMatchObject({ rows: [0, 1], masks: [0b100, 0b1000] });
  expect(runs[3]!.inputs).toMatchObject({ tokens: [-1, -1, -1] });
  runs[1]!.end(6);
  runs[2]!.end(7, 8);
  expect(await Promise.all(seconds)).toEqual([6, 7, 8]);
});

test("sequences whose tokens were chosen apart come together again", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const [one, two] = [await pool.acquire({}), await pool.acquire({})];
  const firsts = [choose(scheduler, one, 4, 9, 0b1), choose(scheduler, two, 5, 9, 0b1)];
  await turns();
  runs[0]!.end(6, 7);
  await Promise.all(firsts);
  const second = choose(scheduler, one, 6, 8, 0b1);
  await turns();
  const late = choose(scheduler, two, 7, 8, 0b1);
  await turns();
  // One choice at a time, and no run with one of the two alone.
  expect(kinds(runs)).toEqual(["model", "keeping", "choice"]);
  runs[1]!.end();
  await turns();
  expect(runs).toHaveLength(3);
  runs[2]!.end(8);
  expect(await second).toBe(8);
  await turns();
  expect(runs.slice(3)).toMatchObject([
    { plan: "choice", inputs: { rows: [1] } },
    { plan: "keeping", inputs: { tokens: [8, -1] } },
  ]);
  runs[3]!.end(9);
  expect(await late).toBe(9);
});

test("a mask that comes with the token chooses the next one before the caller asks for it", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const sequences = [await pool.acquire({}), await pool.acquire({})];
  const tokens: number[] = [];
  const maskAfter = (token: number) => {
    tokens.push(token);
    return Uint32Array.of(1 << token);
  };
  const firsts = sequences.map((sequence, i) => feed(scheduler, sequence, [4 + i], 9, { masks: mask(0b1), maskAfter }));
  await turns();
  const together: number[] = [];
  for (const first of firsts) void first.then(() => together.push(runs.length));
  runs[0]!.end(6, 7);
  await Promise.all(firsts);
  expect(tokens).toEqual([6, 7]);
  // The choice and the run behind it were submitted before the callers went on.
  expect(together).toEqual([4, 4]);
  expect(kinds(runs)).toEqual(["model", "keeping", "choice", "keeping"]);
  expect(runs[2]!.inputs).toMatchObject({ rows: [0, 1], masks: [1 << 6, 1 << 7], drawPositions: [2, 2] });
  expect(runs[3]!.inputs).toMatchObject({ tokens: [-1, -1], positions: [2, 2], keptTo: [0, 1] });
  const seconds = sequences.map((sequence, i) => feed(scheduler, sequence, [6 + i], 8, { masks: mask(1 << (6 + i)), maskAfter }));
  await turns();
  expect(runs).toHaveLength(4);
  runs[1]!.end();
  runs[2]!.end(8, 9);
  expect(await Promise.all(seconds)).toEqual([8, 9]);
  expect(runs[4]).toMatchObject({ plan: "choice", inputs: { rows: [0, 1], masks: [1 << 8, 1 << 9] } });
  expect(sequences.map(({ ids }) => ids)).toEqual([
    [4, 6],
    [5, 7],
  ]);
});

test("a token that is chosen before its caller asks for it is there when it does", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const sequence = await pool.acquire({});
  const choice = { masks: mask(0b1), maskAfter: () => Uint32Array.of(0b10) };
  const first = feed(scheduler, sequence, [4], 9, choice);
  await turns();
  runs[0]!.end(6);
  await first;
  runs[1]!.end();
  runs[2]!.end(7);
  await turns();
  // No more than one token ahead of the caller.
  expect(kinds(runs)).toEqual(["model", "keeping", "choice", "keeping"]);
  expect(await feed(scheduler, sequence, [6], 8, choice)).toBe(7);
  expect(kinds(runs)).toEqual(["model", "keeping", "choice", "keeping", "choice", "keeping"]);
  expect(sequence.ids).toEqual([4, 6]);
});

test.each([
  ["does not know", () => undefined],
  [
    "fails to compute",
    () => {
      throw new Error("budget");
    },
  ],
])("a mask that the caller %s ahead comes with its next token", async (_, maskAfter) => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 9, { masks: mask(0b1), maskAfter });
  await turns();
  runs[0]!.end(6);
  await first;
  await turns();
  expect(kinds(runs)).toEqual(["model", "keeping"]);
  void choose(scheduler, sequence, 6, 8, 0b10);
  await turns();
  expect(runs[2]).toMatchObject({ plan: "choice", inputs: { masks: [0b10] } });
});

test("another token than the chosen one is computed again", async () => {
  const set = setUp(3, ready);
  const sequence = await begun(set);
  const other = choose(set.scheduler, sequence, 8, 0, 0b1);
  set.runs[1]!.end();
  await turns();
  expect(last(set.runs)).toMatchObject({ plan: "model", inputs: { tokens: [8], positions: [1], masks: [0b1] } });
  last(set.runs).end(9);
  expect(await other).toBe(9);
  expect(sequence.ids).toEqual([4, 8]);
});

test("a mask that comes before the run is submitted goes with it", async () => {
  const set = setUp(2, ready);
  const { scheduler, runs, pool } = set;
  const [sequence, other] = [await pool.acquire({}), await pool.acquire({})];
  const first = choose(scheduler, sequence, 4, 9, 0b1);
  const prompt = scheduler.feed(other, [1, 2, 3], { rows: "none" });
  await turns();
  // Nothing is queued behind a run that a sequence leaves.
  expect(runs).toHaveLength(1);
  runs[0]!.end(6);
  await first;
  const second = choose(scheduler, sequence, 6, 8, 0b10);
  await prompt;
  await turns();
  expect(runs[1]).toMatchObject({ plan: "model", inputs: { tokens: [6], masks: [0b10] } });
  runs[1]!.end(7);
  expect(await second).toBe(7);
});

test("a run that fails rejects the choice from its logits, and the sequence goes on after it", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs } = set;
  const sequence = await begun(set);
  const second = choose(scheduler, sequence, 6, 8, 0b1);
  runs[1]!.fail(new Error("lost"));
  await expect(second).rejects.toThrow("lost");
  for (const run of runs.slice(2)) run.end(7);
  await turns();
  expect(sequence.ids).toEqual([4]);
  const again = choose(scheduler, sequence, 6, 8, 0b1);
  await turns();
  expect(runs.findLast(({ plan }) => plan === "model")!.inputs).toMatchObject({ tokens: [6], masks: [0b1] });
  runs.findLast(({ plan }) => plan === "model")!.end(7);
  expect(await again).toBe(7);
});

test("an abort ends a choice, in flight or waiting for another one", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const [one, two] = [await pool.acquire({}), await pool.acquire({})];
  const controller = new AbortController();
  const options = { rows: "last", following: 8, signal: controller.signal } as const;
  const firsts = [one, two].map((each, i) => scheduler.feedChoosing(each, [4 + i], options, { sampling, position: 1, masks: mask(0b1) }));
  await turns();
  runs[0]!.end(6, 7);
  await Promise.all(firsts);
  const inFlight = scheduler.feedChoosing(one, [6], options, { sampling, position: 2, masks: mask(0b1) });
  await turns();
  const waiting = scheduler.feedChoosing(two, [7], options, { sampling, position: 2, masks: mask(0b1) });
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  for (const run of runs.slice(1)) run.end(8);
  await expect(inFlight).rejects.toBe(reason);
  expect([one.ids, two.ids]).toEqual([[4], [5]]);
});

test("a text that is not read loses its logits to another one, and computes them again", async () => {
  const set = setUp(3, async (plans) => ({ ...plans, sequences: 1 }));
  const { scheduler, runs } = set;
  const idle = await begun(set);
  runs[1]!.end();
  const other = await begun(set, 7, 1);
  expect(last(runs)).toMatchObject({ plan: "keeping", inputs: { keptTo: [0] } });
  last(runs).end();
  const second = choose(scheduler, idle, 6, 0, 0b10);
  await turns();
  expect(last(runs)).toMatchObject({ plan: "model", inputs: { tokens: [6], positions: [1], masks: [0b10] } });
  last(runs).end(8);
  expect(await second).toBe(8);
  void choose(scheduler, other, 7, 0, 0b100);
  expect(last(runs)).toMatchObject({ plan: "choice", inputs: { rows: [0], masks: [0b100] } });
});

test("prompts that runs with kept logits have no room for take turns with them", async () => {
  const set = setUp(2, ready);
  const { scheduler, runs, pool } = set;
  const sequence = await begun(set);
  const prompt = scheduler.feed(await pool.acquire({}), Array(10).fill(1), { rows: "none" });
  const sizes: [plan: string, tokens: number][] = [];
  let id = 6;
  for (let step = 0; step < 4; step++) {
    const next = choose(scheduler, sequence, id, 8 - step, 0b1);
    let isOver = false;
    void next.then(() => {
      isOver = true;
    });
    while (!isOver) {
      for (const run of runs) run.end(id + 1);
      await turns();
    }
    id = await next;
  }
  for (const { plan, inputs } of runs.slice(2)) if (plan !== "choice") sizes.push([plan, inputs.tokens!.length]);
  await prompt;
  // The rest of the prompt fits into a run that keeps logits.
  expect(sizes.filter(([, tokens]) => tokens > 1)).toEqual([
    ["model", 8],
    ["keeping", 3],
  ]);
});

test("without memory for it, runs wait for their masks", async () => {
  const set = setUp(3, () => Promise.reject(new OutOfMemoryError("keptLogits", 2 ** 30, 0)));
  void choose(set.scheduler, await set.pool.acquire({}), 4, 9, 0b1);
  await turns();
  expect(kinds(set.runs)).toEqual(["model"]);
});

test("other errors reach the caller", async () => {
  const set = setUp(3, () => Promise.reject(new Error("no kernel")));
  await expect(choose(set.scheduler, await set.pool.acquire({}), 4, 9, 0b1)).rejects.toThrow("no kernel");
});
