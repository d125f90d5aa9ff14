import { f32, i32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the arithmetic ops on two tensors of f32 or i32. */
export const arithmeticCases: readonly SharedCase[] = [
  { name: "no multiple of a vector", inputs: [f32(3, 5, 7), f32(3, 5, 7)] },
  { name: "more than one workgroup", inputs: [f32(1037), f32(1037)] },
  { name: "bias row", inputs: [f32(9, 13), f32(13)] },
  { name: "bias row as weight", inputs: [f32(9, 13), { ...f32(13), as: "persistent" }] },
  { name: "row by constant", inputs: [f32(5, 6), { ...f32(6), as: "constant" }] },
  { name: "column", inputs: [f32(9, 13), f32(9, 1)] },
  { name: "outer product", inputs: [f32(7, 1), f32(1, 5)] },
  { name: "smaller on the left", inputs: [f32(4), f32(3, 2, 4)] },
  { name: "both stretched", inputs: [f32(2, 1, 3, 1), f32(5, 1, 4)] },
  { name: "scalar on the right", inputs: [f32(3, 11), f32()] },
  { name: "scalar on the left", inputs: [f32(), f32(33)] },
  { name: "two scalars", inputs: [f32(), f32()] },
  { name: "empty", inputs: [f32(0, 4), f32(4)] },
  { name: "empty against 1", inputs: [f32(0), f32(1)] },
  { name: "i32 broadcast", inputs: [tensor("i32", 7, 3), tensor("i32", 3)] },
  { name: "i32 scalar", inputs: [tensor("i32", 33), i32([], [-5])] },
];

/** What they all refuse. */
export const arithmeticMistakes = (op: string): readonly WrongCase[] => [
  {
    name: "shapes",
    inputs: [f32(2, 3), f32(2)],
    error: "ShapeError",
    message: new RegExp(`${op}: expected shapes that broadcast .* got \\[2, 3\\] and \\[2\\]; reshape one`),
  },
  {
    name: "symbolic against a number",
    inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }, f32(3, 2)],
    error: "ShapeError",
    message: /T≤4/,
  },
  {
    name: "two symbols",
    inputs: [
      { dtype: "f32", shape: [{ name: "T", max: 4 }] },
      { dtype: "f32", shape: [{ name: "S", max: 4 }] },
    ],
    error: "ShapeError",
    message: /T≤4.*S≤4/,
  },
  { name: "mixed", inputs: [f32(2), i32([2], [1, 2])], error: "DTypeError", message: /one dtype, got f32 and i32/ },
  { name: "f16", inputs: [tensor("f16", 2), tensor("f16", 2)], error: "DTypeError", message: /a in f32 or i32/ },
];
