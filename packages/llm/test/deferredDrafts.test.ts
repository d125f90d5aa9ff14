import { expect, test } from "vitest";
import { blockTokens } from "../src/cache/prefixCache.ts";
import type { Sequence } from "../src/cache/sequence.ts";
import { begun, choose, kinds, last, mask, ready } from "./deferredRuns.ts";
import { feed, sampling, setUp, turns } from "./fakeScheduler.ts";

test("a draft continues with the token that is computed already", async () => {
  const set = setUp(3, ready);
  const { scheduler, runs } = set;
  const sequence = await begun(set);
  const masks = [0b1, 0b10, 0b100].map((bits) => Uint32Array.of(bits));
  sequence.beginDraft();
  const draft = scheduler.feedChoosing(sequence, [6, 7, 8], { rows: "all", isDraft: true }, { sampling, position: 2, masks });
  const block = sequence.blocks[0]!;
  expect(runs.slice(2)).toMatchObject([
    { plan: "choice", inputs: { rows: [0], masks: [0b1], drawPositions: [2], chosenBlocks: [-1] } },
    {
      plan: "model",
      inputs: {
        tokens: [7, 8],
        positions: [2, 3],
        slots: [2, 3].map((at) => block * blockTokens + at),
        masks: [0b10, 0b100],
        drawPositions: [3, 4],
        chosenBlocks: [-1, -1],
      },
    },
  ]);
  runs[1]!.end();
  runs[2]!.end(7);
  await turns();
  expect(runs).toHaveLength(4);
  runs[3]!.end(8, 9);
  expect([...(await draft)]).toEqual([7, 8, 9]);
  expect(sequence.ids).toEqual([4]);
  sequence.acceptDraft([6, 7, 8], 3);
  expect(sequence.ids).toEqual([4, 6, 7, 8]);
  await turns();
  expect(runs).toHaveLength(4);
});

test.each([false, true])("a draft continues with a token that is chosen already (%s: and read)", async (isRead) => {
  const set = setUp(3, ready);
  const { scheduler, runs, pool } = set;
  const sequence = await pool.acquire({});
  const first = feed(scheduler, sequence, [4], 9, { masks: mask(0b1), maskAfter: () => Uint32Array.of(0b10) });
  await turns();
  runs[0]!.end(6);
  await first;
  const end = async () => {
    runs[1]!.end();
    runs[2]!.end(7);
    await turns();
  };
  if (isRead) await end();
  expect(kinds(runs)).toEqual(["model", "keeping", "choice", "keeping"]);
  sequence.beginDraft();
  const masks = [0b10, 0b100].map((bits) => Uint32Array.of(bits));
  const draft = scheduler.feedChoosing(sequence, [6, 7], { rows: "all", isDraft: true }, { sampling, position: 2, masks });
  if (!isRead) await end();
  runs[3]!.end();
  await turns();
  expect(last(runs)).toMatchObject({ plan: "model", inputs: { tokens: [7], positions: [2], masks: [0b100] } });
  last(runs).end(8);
  expect([...(await draft)]).toEqual([7, 8]);
  expect(sequence.ids).toEqual([4]);
  sequence.acceptDraft([6, 7], 2);
  expect(sequence.ids).toEqual([4, 6, 7]);
});

/** A sequence with the token 6 and a draft of two tokens after it, which the model's runs and choices have verified. */
async function drafted(set: ReturnType<typeof setUp>): Promise<Sequence> {
  const { scheduler, runs } = set;
  const sequence = await begun(set);
  const masks = [0b1, 0b10, 0b100].map((bits) => Uint32Array.of(bits));
  sequence.beginDraft();
  const draft = scheduler.feedChoosing(sequence, [6, 7, 8], { rows: "all", isDraft: true, following: 5 }, { sampling, position: 2, masks });
  await turns();
  const block = sequence.blocks[0]!;
  // The token after the draft is computed ahead, in case that the draft is accepted.
  expect(runs.slice(2)).toMatchObject([
    { plan: "choice", inputs: { chosenBlocks: [-1] } },
    { plan: "model", inputs: { tokens: [7, 8], chosenBlocks: [-1, block] } },
    { plan: "keeping", inputs: { tokens: [-1], tokenBlocks: [block], positions: [4], keptTo: [0] } },
  ]);
  runs[1]!.end();
  runs[2]!.end(7);
  runs[3]!.end(8, 9);
  expect([...(await draft)]).toEqual([7, 8, 9]);
  return sequence;
}

test("the token after a draft that is accepted is computed already", async () => {
  const set = setUp(3, ready);
  const sequence = await drafted(set);
  sequence.acceptDraft([6, 7, 8], 3);
  const after = choose(set.scheduler, sequence, 9, 4, 0b1000);
  await turns();
  expect(set.runs.slice(5)).toMatchObject([
    { plan: "choice", inputs: { rows: [0], masks: [0b1000], drawPositions: [5] } },
    { plan: "keeping", inputs: { positions: [5] } },
  ]);
  set.runs[4]!.end();
  set.runs[5]!.end(3);
  expect(await after).toBe(3);
  expect(sequence.ids).toEqual([4, 6, 7, 8, 9]);
});

test("the token after a draft that is rejected is computed again", async () => {
  const set = setUp(3, ready);
  const sequence = await drafted(set);
  sequence.acceptDraft([6, 7, 8], 1);
  const after = choose(set.scheduler, sequence, 7, 4, 0b1000);
  set.runs[4]!.end();
  await turns();
  expect(set.runs[5]).toMatchObject({ plan: "model", inputs: { tokens: [7], positions: [2], masks: [0b1000], drawPositions: [3] } });
  set.runs[5]!.end(3);
  expect(await after).toBe(3);
  expect(sequence.ids).toEqual([4, 6, 7]);
});
