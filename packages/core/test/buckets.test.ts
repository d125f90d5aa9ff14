import { expect, test } from "vitest";
import { bucketOf, bucketsOf } from "../src/backend/buckets.ts";
import { createProgram } from "../src/index.ts";

test("buckets are 0 and powers of two up to the maximum", () => {
  expect([0, 1, 2, 3, 4, 5, 6].map((value) => bucketOf(6, value))).toEqual([0, 1, 2, 4, 4, 6, 6]);
  expect([257, 512].map((value) => bucketOf(512, value))).toEqual([512, 512]);
  expect([0, 1].map((value) => bucketOf(1, value))).toEqual([0, 1]);
});

test("dims that a run does not bind count as 0", () => {
  const program = createProgram();
  program.input("x", "f32", [program.dim("T", 100), program.dim("unused", 4)]);
  expect(bucketsOf(program, { T: 9 })).toEqual({ T: 16, unused: 0 });
});
