import type { DimValues } from "@centella/core";
import { expect, test } from "vitest";
import { prepareRuns } from "../src/load/prepareRuns.ts";
import type { ModelSizes } from "../src/model/modelBuilder.ts";

const sizes = {
  batchSize: 100,
  maxRows: 32,
  sequences: 3,
  contextLength: 1000,
  cacheType: "f16",
  activations: "half",
  isGeluRounded: false,
  runsInFlight: 1,
  result: "logits",
} as const satisfies ModelSizes;

/** The extents that a plan is asked to prepare, call by call. */
async function prepared(of: ModelSizes): Promise<readonly (readonly DimValues[])[]> {
  const calls: (readonly DimValues[])[] = [];
  await prepareRuns({ prepare: async (extents) => void calls.push(extents) }, of);
  return calls;
}

const row = (T: number, nSeq: number, nOut: number, nRead: number): DimValues => ({ T, nSeq, nOut, nRead, nMask: 0 });

test("decoding comes first, then the longest prompts, then shorter ones, then prompts of several texts", async () => {
  const [first, later] = await prepared(sizes);
  expect(first).toEqual([...[1, 2, 3].flatMap((n) => [row(n, n, n, 0), row(n, n, n, n)]), ...[row(100, 1, 1, 0), row(100, 1, 1, 1)]]);
  const alone = later!.filter(({ nSeq }) => nSeq === 1);
  expect(alone.map(({ T }) => T)).toEqual([64, 64, 32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1]);
  const together = [2, 3].flatMap((n) => [100, 64, 32, 16, 8, 4].map((T) => row(T, n, n, 0)));
  expect(later!.slice(alone.length)).toEqual(together);
});

test("a model of one text at a time has no runs of several", async () => {
  const calls = await prepared({ ...sizes, sequences: 1 });
  expect(calls.flat().every(({ nSeq }) => nSeq === 1)).toBe(true);
});

test("an encoder has runs of texts alone", async () => {
  const [first, later] = await prepared({ ...sizes, batchSize: 8, result: "states" });
  expect(first).toEqual([{ T: 8, nSeq: 1, nOut: 8 }]);
  expect(later!.map(({ T, nOut }) => [T, nOut])).toEqual([4, 2, 1].map((n) => [n, n]));
});

test("a kernel that fails is reported for the runs that come first, and left to the later ones", async () => {
  const fail = new Error("no kernel");
  await expect(prepareRuns({ prepare: () => Promise.reject(fail) }, sizes)).rejects.toBe(fail);
  let calls = 0;
  await prepareRuns({ prepare: () => (calls++ === 0 ? Promise.resolve() : Promise.reject(fail)) }, sizes);
  expect(calls).toBe(2);
});
