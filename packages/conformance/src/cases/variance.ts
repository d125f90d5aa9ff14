import { varianceGoldens } from "../goldens/variance.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const variance: OpCases<"variance"> = {
  // f32 sums of up to 1037 squares of differences.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...varianceGoldens,
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
    { name: "sample", inputs: [f32(5, 67)], params: { axis: 1, correction: 1 } },
    // In one pass, E[x^2] - mean^2 has no correct digit here: the values are 2^12 + k / 64, whose squares need 37 bits.
    {
      name: "large mean",
      inputs: [{ dtype: "f32", shape: [64], values: Array.from({ length: 64 }, (_, i) => 4096 + (i % 8) / 64) }],
    },
  ],
  wrong: [
    {
      name: "axis",
      inputs: [f32(2, 3)],
      params: { axis: 2 },
      error: "ArgumentError",
      message: /variance: expected axis to be a whole number from -2 to 1, got 2/,
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
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 }, error: "ShapeError", message: /more than 0 elements to reduce/ },
    {
      name: "one of a sample",
      inputs: [f32(3, 1)],
      params: { axis: 1, correction: 1 },
      error: "ShapeError",
      message: /more than 1 elements/,
    },
    {
      name: "correction",
      inputs: [f32(3)],
      params: { correction: -1 },
      error: "ArgumentError",
      message: /correction to be a whole number from 0, got -1/,
    },
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32, got i32/ },
  ],
};
