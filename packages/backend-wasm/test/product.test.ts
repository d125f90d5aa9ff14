import { describe, expect, test } from "vitest";
import { sharedUnits } from "../src/matmul/product.ts";

/** Multiply-adds of the calls of a product of `units` units. */
function callsOf(units: number, work: number, threads: number): readonly number[] {
  const size = sharedUnits(work, units * work, threads);
  return Array.from({ length: Math.ceil(units / size) }, (_, i) => work * Math.min(size, units - i * size));
}

/** Time until threads that take one call after another are done. */
function spanOf(calls: readonly number[], threads: number): number {
  const busy = Array.from({ length: threads }, () => 0);
  for (const call of calls) busy[busy.indexOf(Math.min(...busy))]! += call;
  return Math.max(...busy);
}

// Rows and columns of the weights of small and large models.
const shapes = [
  [512, 512],
  [512, 1536],
  [1536, 512],
  [896, 896],
  [4864, 896],
  [2048, 2048],
  [151_936, 896],
] as const;

describe.each([2, 3, 4, 8])("a single token's products on %i threads", (threads) => {
  test.each(shapes)("%i × %i: threads end together, and no call is smaller than what it costs", (rows, columns) => {
    const calls = callsOf(rows, columns, threads);
    const total = rows * columns;
    // As many threads as there are worthwhile calls: 100,000 multiply-adds take about two microseconds.
    const busy = Math.min(threads, Math.floor(total / 1e5));
    expect(spanOf(calls, threads)).toBeLessThanOrEqual((1.15 * total) / busy);
    if (calls.length > 1) expect(Math.min(...calls.slice(0, -1))).toBeGreaterThanOrEqual(1e5);
  });
});

test("one thread gets products whole, or in calls of a few milliseconds", () => {
  expect(callsOf(512, 512, 1)).toEqual([512 * 512]);
  expect(Math.max(...callsOf(65_536, 4096, 1))).toBeLessThanOrEqual(2e7);
});
