import { sumKahanGoldens } from "../goldens/sumKahan.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const sumKahan: OpCases<"sumKahan"> = {
  // One rounding to f32; values of size 1.
  tolerance: { f32: { rtol: 1e-6, atol: 2e-7 } },
  cases: [
    ...sumKahanGoldens,
    { name: "all", inputs: [f32(1037)] },
    { name: "all of rank 3, kept", inputs: [f32(3, 5, 7)], params: { keepDims: true } },
    { name: "last axis", inputs: [f32(5, 67)], params: { axis: -1 } },
    { name: "first axis", inputs: [f32(67, 5)], params: { axis: 0 } },
    { name: "middle axis, kept", inputs: [f32(3, 9, 4)], params: { axis: -2, keepDims: true } },
    { name: "axis of 1", inputs: [f32(4, 1)], params: { axis: 1 } },
    { name: "scalar", inputs: [f32()] },
    { name: "empty beside the axis", inputs: [f32(0, 4)], params: { axis: 1 } },
    {
      name: "NaN",
      inputs: [{ dtype: "f32", shape: [3, 4], values: [1, Number.NaN, 3, 2, 1, 2, 3, 4, Number.NaN, 0, 0, 1] }],
      params: { axis: 1 },
    },
    {
      name: "infinities",
      inputs: [{ dtype: "f32", shape: [2, 2], values: [Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY, 1] }],
      params: { axis: 1 },
    },
    { name: "large terms that cancel", inputs: [{ dtype: "f32", shape: [5], values: [1, 2 ** 60, 3, -(2 ** 60), 4] }] },
    { name: "rows that groups share", inputs: [f32(2, 20_001)], params: { axis: 1 } },
    { name: "columns that groups share", inputs: [f32(1281, 16)], params: { axis: 0 } },
    {
      name: "terms of several groups that cancel",
      inputs: [
        {
          dtype: "f32",
          shape: [20_000],
          values: Array.from({ length: 20_000 }, (_, i) => (i === 3 ? 2 ** 60 : i === 19_990 ? -(2 ** 60) : 1)),
        },
      ],
    },
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 } },
    { name: "nothing at all", inputs: [f32(0)] },
  ],
  wrong: [
    {
      name: "axis",
      inputs: [f32(2, 3)],
      params: { axis: 2 },
      error: "ArgumentError",
      message: /sumKahan: expected axis to be a whole number from -2 to 1, got 2/,
    },
    { name: "half an axis", inputs: [f32(2, 3)], params: { axis: 0.5 }, error: "ArgumentError", message: /got 0.5/ },
    {
      name: "keepDims",
      inputs: [f32(2, 3)],
      params: { keepDims: 1 },
      error: "ArgumentError",
      message: /keepDims to be true or false, got 1/,
    },
    { name: "axis of a scalar", inputs: [f32()], params: { axis: 0 }, error: "ShapeError", message: /rank 1 or more/ },
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32, got i32/ },
  ],
};
