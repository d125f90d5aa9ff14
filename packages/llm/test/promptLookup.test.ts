import { expect, test } from "vitest";
import { PromptLookup } from "../src/generate/promptLookup.ts";

test("drafts the tokens that followed the longest match, the latest of equals", () => {
  expect(new PromptLookup(8).draft([1, 2, 3, 4, 5, 1, 2], 8)).toEqual([3, 4, 5, 1]);
  // The end 2, 3 also occurs before 9, but the longer match 1, 2, 3 is further back.
  expect(new PromptLookup(2).draft([1, 2, 3, 7, 8, 6, 2, 3, 9, 9, 1, 2, 3], 8)).toEqual([7, 8]);
  expect(new PromptLookup(2).draft([5, 2, 3, 7, 8, 6, 2, 3, 9, 9, 1, 2, 3], 8)).toEqual([9, 9]);
  expect(new PromptLookup(8).draft([1, 2, 3, 4], 8)).toEqual([]);
  expect(new PromptLookup(8).draft([1, 1, 1], 8)).toEqual([1]);
  expect(new PromptLookup(8).draft([1, 2, 3, 4, 5, 1, 2], 1)).toEqual([3]);
});

test("drafts grow while they are accepted and shrink when tokens are rejected", () => {
  const lookup = new PromptLookup(16);
  const history = [...Array.from({ length: 40 }, (_, i) => i), 0, 1];
  expect(lookup.draft(history, 99)).toHaveLength(4);
  lookup.adapt(4, 4);
  expect(lookup.draft(history, 99)).toHaveLength(8);
  lookup.adapt(8, 8);
  lookup.adapt(16, 16);
  expect(lookup.draft(history, 99)).toHaveLength(16);
  lookup.adapt(16, 2);
  expect(lookup.draft(history, 99)).toHaveLength(3);
  lookup.adapt(3, 0);
  expect(lookup.draft(history, 99)).toHaveLength(1);
});
