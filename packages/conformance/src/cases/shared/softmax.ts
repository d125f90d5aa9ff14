import { f32, i32, type SharedCase, type WrongCase } from "../../opCases.ts";

/** Cases of softmax and its logarithm. */
export const softmaxCases: readonly SharedCase<{ readonly axis?: number }>[] = [
  { name: "rows", inputs: [f32(7, 67)] },
  { name: "vocabulary", inputs: [{ dtype: "f32", shape: [2, 1037], fill: { low: -20, high: 20 } }] },
  { name: "middle axis", inputs: [f32(3, 9, 4)], params: { axis: 1 } },
  { name: "rows of 1", inputs: [f32(5, 1)] },
  { name: "vector", inputs: [f32(33)], params: { axis: 0 } },
  { name: "no rows", inputs: [f32(0, 4)] },
  { name: "empty rows", inputs: [f32(3, 0)] },
  {
    name: "masked",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [Number.NEGATIVE_INFINITY, 1, 2, 0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY] },
    ],
  },
  {
    name: "all masked, NaN",
    inputs: [{ dtype: "f32", shape: [3, 2], values: [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1, 0, 1] }],
  },
];

/** What they all refuse. */
export const softmaxMistakes: readonly WrongCase[] = [
  {
    name: "axis",
    inputs: [f32(2, 3)],
    params: { axis: 2 },
    error: "ArgumentError",
    message: /axis to be a whole number from -2 to 1, got 2/,
  },
  { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
  { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32/ },
];
