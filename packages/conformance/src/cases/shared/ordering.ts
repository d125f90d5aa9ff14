import { f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the ops that sort. */
export const orderingCases: readonly SharedCase<{ readonly axis?: number; readonly descending?: boolean }>[] = [
  { name: "rows", inputs: [f32(5, 67)] },
  { name: "long", inputs: [f32(1037)], params: { descending: true } },
  { name: "first axis", inputs: [f32(67, 5)], params: { axis: 0 } },
  { name: "middle axis, descending", inputs: [f32(3, 9, 4)], params: { axis: 1, descending: true } },
  { name: "ties", inputs: [{ dtype: "f32", shape: [6], values: [2, 1, 2, 1, 2, 1] }], params: { descending: true } },
  { name: "axis of 1", inputs: [f32(4, 1)] },
  { name: "empty axis", inputs: [f32(3, 0)] },
  { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }] },
];

/** What they all refuse. */
export const orderingMistakes = (op: string): readonly WrongCase[] => [
  {
    name: "axis",
    inputs: [f32(2, 3)],
    params: { axis: 2 },
    error: "ArgumentError",
    message: new RegExp(`${op}: expected axis to be a whole number from -2 to 1, got 2`),
  },
  {
    name: "order",
    inputs: [f32(2, 3)],
    params: { descending: "yes" },
    error: "ArgumentError",
    message: /descending to be true or false, got "yes"/,
  },
  { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
  { name: "i32", inputs: [tensor("i32", 3)], error: "DTypeError", message: /x in f32, got i32/ },
];
