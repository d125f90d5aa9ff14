import { expect, test } from "vitest";
import {
  ArgumentError,
  createBatch,
  createRuntime,
  DisposedError,
  DTypeError,
  reference,
  ShapeError,
  type TensorData,
} from "../src/index.ts";

const runtime = await createRuntime({ backends: [reference()] });
const backend = await reference().open();
const four = new Float32Array(4);

const endless: unknown[] = [];
endless.push(endless);

/** Mistakes that only JavaScript callers can make, because the types refuse them. */
const wrong: readonly (readonly [string, unknown, unknown, unknown, new (...args: never[]) => Error, RegExp])[] = [
  [
    "f64",
    new Float64Array(2),
    undefined,
    undefined,
    DTypeError,
    /expected a list of numbers, or a Float32Array, .+, got a Float64Array of 16 bytes; convert/,
  ],
  ["nothing", undefined, undefined, undefined, DTypeError, /expected a list of numbers, .+, got undefined/],
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
  [
    "lists of different lengths",
    [[1, 2], [3]],
    undefined,
    undefined,
    ShapeError,
    /expected 2 elements in the list at \[1\], as in the first, got 1/,
  ],
  ["lists of different depths", [[1, 2], 3], undefined, undefined, ShapeError, /expected a list at \[1\], as in the first, got 3/],
  [
    "a list among numbers",
    [
      [1, 2],
      [3, [4]],
    ],
    undefined,
    undefined,
    DTypeError,
    /a number at \[1\]\[1\], got \[4\]; nest all lists/,
  ],
  ["text among numbers", [1, "2"], undefined, undefined, DTypeError, /expected a number at \[1\], got "2"/],
  ["a hole", new Array(2), undefined, undefined, DTypeError, /expected a number at \[0\], got undefined/],
  ["booleans", [[true]], undefined, undefined, DTypeError, /a number at \[0\]\[0\], got true; write 1 or 0, with dtype "bool"/],
  ["big integers", [1n], undefined, undefined, DTypeError, /a number at \[0\], got 1n; convert it with Number\(\)/],
  ["typed arrays in a list", [four], undefined, undefined, DTypeError, /a number at \[0\], got a Float32Array/],
  ["fractions of integers", [1, 2.5], undefined, "i32", DTypeError, /a value of i32 at \[1\], got 2.5/],
  ["integers out of range", [[255, 256]], undefined, "u8", DTypeError, /a value of u8 at \[0\]\[1\], got 256/],
  ["a bool of 2", [2], undefined, "bool", DTypeError, /a value of bool at \[0\], got 2/],
  [
    "lists of stored forms",
    [1],
    undefined,
    "f16",
    DTypeError,
    /f32 or a type of integers for a list of numbers, got "f16"; pass the stored/,
  ],
  ["nested lists with a shape", [[1, 2]], [2], undefined, ArgumentError, /a shape or nested lists, which have one, got both/],
  ["a list of another length than the shape", [1, 2, 3], [2, 2], undefined, ShapeError, /expected 4 elements for f32 \[2, 2\], got 3/],
  [
    "a list that contains itself",
    endless,
    undefined,
    undefined,
    ShapeError,
    /at most 64 axes, got more; check that no list contains itself/,
  ],
  ["parts of blocks", new Uint8Array(34), [33], "q8_0", ShapeError, /a last axis that is a multiple of 32/],
];

test.each(wrong)("%s is refused", (_, data, shape, dtype, error, message) => {
  const args = [data, shape, dtype] as Parameters<typeof runtime.tensor>;
  for (const make of [() => runtime.tensor(...args), () => runtime.lazy(...args), () => createBatch(backend).upload(...args)]) {
    expect(make).toThrow(error);
    expect(make).toThrow(message);
  }
});

test("empty data is a tensor", async () => {
  expect(await runtime.tensor(new Float32Array(0), [3, 0]).data()).toEqual(new Float32Array(0));
});

test.each([
  [[1, 2, 3], [3]],
  [
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    [2, 3],
  ],
  [
    [[[1]], [[2]]],
    [2, 1, 1],
  ],
  [[], [0]],
  [
    [[], []],
    [2, 0],
  ],
] as [TensorData & readonly unknown[], number[]][])("%j is a tensor of shape %j", async (list, shape) => {
  const tensor = runtime.tensor(list);
  expect(tensor).toMatchObject({ spec: { dtype: "f32", shape }, shape, dtype: "f32" });
  expect([...(await tensor.data())]).toEqual(list.flat(3));
  expect(await runtime.lazy(list).neg().data()).toEqual(Float32Array.from(list.flat(3) as number[], (value) => -value));
});

test("a flat list takes a shape, and integers their dtype", async () => {
  const tensor = runtime.tensor([1, -2, 3, 4], [2, 2], "i32");
  expect([tensor.shape, tensor.dtype]).toEqual([[2, 2], "i32"]);
  expect(await tensor.data()).toEqual(Int32Array.of(1, -2, 3, 4));
  expect(await runtime.tensor([1, 0], undefined, "bool").data()).toEqual(Uint8Array.of(1, 0));
  expect(runtime.lazy([[1, 2]]).relu()).toMatchObject({ shape: [1, 2], dtype: "f32" });
});

test("floats round to f32, and need not be finite", async () => {
  expect(await runtime.tensor([0.1, NaN, -Infinity]).data()).toEqual(Float32Array.of(0.1, NaN, -Infinity));
});

test("data is copied", async () => {
  const data = Float32Array.of(1);
  const tensor = runtime.tensor(data);
  data[0] = 2;
  expect(await tensor.data()).toEqual(Float32Array.of(1));
});

test("readInto() fills an array of the caller", async () => {
  const tensor = runtime.tensor([1, 2, 3]);
  const target = new Float32Array(3);
  await tensor.readInto(target);
  expect(target).toEqual(Float32Array.of(1, 2, 3));
  target.fill(0);
  expect(await tensor.data()).toEqual(Float32Array.of(1, 2, 3));
  await expect(tensor.readInto(new Float32Array(4))).rejects.toThrow("readInto: expected 3 elements for f32 [3], got 4");
  await expect(tensor.readInto(new Float64Array(3) as never)).rejects.toThrow(DTypeError);
  tensor.dispose();
  await expect(tensor.readInto(target)).rejects.toThrow(DisposedError);
});
