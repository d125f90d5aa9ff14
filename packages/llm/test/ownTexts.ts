import { expect } from "vitest";
import type { Model } from "../src/index.ts";

const greedy = { temperature: 0, maxTokens: 6, logitBias: { 2: Number.NEGATIVE_INFINITY } } as const;
const prompt = [5, 9, 31, 17, 8, 22, 35, 14, 27];

/**
 * Expects that two texts at a time, forks and restored sessions of a model with two sequences go on as texts that a new model computes alone.
 */
export async function expectOwnTexts(load: () => Promise<Model>): Promise<void> {
  async function afresh(ids: readonly number[]): Promise<readonly number[]> {
    await using other = await load();
    return (await other.createSession().complete({ ids }, greedy)).ids;
  }
  await using model = await load();
  const [one, two] = [model.createSession(), model.createSession()];
  const [a, b] = [
    [...prompt, 3, 3, 3, ...prompt, 11, ...prompt, 4, ...prompt],
    [...prompt.slice(0, 3), 12, 13, 6, 7, 30, 11],
  ];
  const together = await Promise.all([one.complete({ ids: a }, greedy), two.complete({ ids: b }, greedy)]);
  expect(together.map(({ ids }) => ids)).toEqual([await afresh(a), await afresh(b)]);
  const longer = [...a, ...together[0]!.ids, 21, 4];
  const expected = await afresh(longer);
  await using other = await load();
  const restored = await other.restoreSession(await one.save());
  for (const session of [one.fork(), restored]) {
    const { usage, ids } = await session.complete({ ids: longer }, greedy);
    expect(usage.cachedTokens).toBeGreaterThanOrEqual(32);
    expect(ids).toEqual(expected);
  }
}
