import { meanGoldens } from "../goldens/mean.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const mean: OpCases<"mean"> = {
  // f32 sums of up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...meanGoldens,
    { name: "all", inputs: [f32(1037)] },
    { name: "a long row", inputs: [f32(20011)] },
    { name: "long rows", inputs: [f32(3, 20011)], params: { axis: 1 } },
    { name: "long rows with elements between", inputs: [f32(20011, 2)], params: { axis: 0 } },
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
  ],
  wrong: [
    {
      name: "axis",
      inputs: [f32(2, 3)],
      params: { axis: 2 },
      error: "ArgumentError",
      message: /mean: expected axis to be a whole number from -2 to 1, got 2/,
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
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 }, error: "ShapeError", message: /at least one element to reduce/ },
    { name: "nothing at all", inputs: [f32(0, 3)], error: "ShapeError", message: /at least one element to reduce/ },
  ],
};
