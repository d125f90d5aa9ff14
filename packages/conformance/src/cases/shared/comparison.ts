import { f32, i32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the ops that compare elements. */
export const comparisonCases: readonly SharedCase[] = [
  { name: "more than one workgroup", inputs: [tensor("i32", 1037), tensor("i32", 1037)] },
  { name: "row", inputs: [f32(9, 13), f32(13)] },
  { name: "outer", inputs: [f32(7, 1), f32(1, 5)] },
  { name: "scalar on the right", inputs: [tensor("i32", 3, 11), i32([], [7])] },
  { name: "i32 by column", inputs: [tensor("i32", 9, 13), tensor("i32", 9, 1)] },
  { name: "f16", inputs: [tensor("f16", 33), tensor("f16", 33)] },
  { name: "u8", inputs: [tensor("u8", 33), tensor("u8", 33)] },
  { name: "two scalars", inputs: [f32(), f32()] },
  { name: "empty", inputs: [f32(0, 4), f32(4)] },
  {
    name: "NaN, infinities, denormals",
    inputs: [
      { dtype: "f32", shape: [64], fill: "special" },
      { dtype: "f32", shape: [64], fill: "special" },
    ],
  },
];

/** What they all refuse. */
export const comparisonMistakes: readonly WrongCase[] = [
  {
    name: "shapes",
    inputs: [f32(2, 3), f32(2)],
    error: "ShapeError",
    message: /shapes that broadcast .* got \[2, 3\] and \[2\]; reshape one/,
  },
  {
    name: "symbolic against a number",
    inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }, f32(3, 2)],
    error: "ShapeError",
    message: /T≤4/,
  },
  { name: "mixed", inputs: [f32(2), i32([2], [1, 2])], error: "DTypeError", message: /one dtype, got f32 and i32; cast one/ },
  { name: "bool", inputs: [tensor("bool", 2), tensor("bool", 2)], error: "DTypeError", message: /a in f32 or .* u8, got bool/ },
  { name: "quantised", inputs: [tensor("q8_0", 32), f32(32)], error: "DTypeError", message: /dequantise/ },
];
