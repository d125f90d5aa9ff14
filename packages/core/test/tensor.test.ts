import { expect, test } from "vitest";
import { createBatch, createRuntime, DTypeError, reference, ShapeError } from "../src/index.ts";

const runtime = await createRuntime({ backends: [reference()] });
const backend = await reference().open();
const four = new Float32Array(4);

/** Wrong in JavaScript, where no compiler helps. */
const wrong: readonly (readonly [string, unknown, unknown, unknown, new (...args: never[]) => Error, RegExp])[] = [
  ["a plain array", [1, 2], undefined, undefined, DTypeError, /expected a Float32Array, or .+, got \[1, 2\]; make one with Float32Array/],
  ["f64", new Float64Array(2), undefined, undefined, DTypeError, /expected a Float32Array, or .+, got a Float64Array of 16 bytes/],
  ["nothing", undefined, undefined, undefined, DTypeError, /got undefined/],
  [
    "data of another dtype",
    four,
    [4],
    "f16",
    DTypeError,
    /expected Uint16Array for f16 \[4\], got a Float32Array of 16 bytes; pass the stored form/,
  ],
  ["an unknown dtype", four, [4], "f33", DTypeError, /expected a dtype, got "f33"; pass e.g. "f32"/],
  ["a number as shape", four, 4, undefined, ShapeError, /expected a list of extents, got 4; pass e.g. \[2, 3\]/],
  ["negative extents whose product fits", four, [-2, -2], undefined, ShapeError, /whole numbers from 0, got \[-2, -2\]/],
  ["half an extent", new Float32Array(5), [2, 2.5], undefined, ShapeError, /whole numbers from 0, got \[2, 2.5\]/],
  ["another number of elements", four, [5], undefined, ShapeError, /expected 5 elements for f32 \[5\], got 4; pass as many/],
  ["parts of blocks", new Uint8Array(34), [33], "q8_0", ShapeError, /a last axis that is a multiple of 32/],
];

test.each(wrong)("%s is no tensor", (_, data, shape, dtype, error, message) => {
  const args = [data, shape, dtype] as Parameters<typeof runtime.tensor>;
  for (const make of [() => runtime.tensor(...args), () => runtime.lazy(...args), () => createBatch(backend).upload(...args)]) {
    expect(make).toThrow(error);
    expect(make).toThrow(message);
  }
});

test("what is empty is a tensor", async () => {
  expect(await runtime.tensor(new Float32Array(0), [3, 0]).data()).toEqual(new Float32Array(0));
});
