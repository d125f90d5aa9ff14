import { f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the element-wise ops on three tensors. */
export const ternaryCases: readonly SharedCase[] = [
  { name: "no multiple of a vector", inputs: [f32(3, 5, 7), f32(3, 5, 7), f32(3, 5, 7)] },
  { name: "more than one workgroup", inputs: [f32(1037), f32(1037), f32(1037)] },
  { name: "row and column", inputs: [f32(9, 13), f32(13), f32(9, 1)] },
  { name: "all stretched", inputs: [f32(5, 1, 1), f32(3, 1), f32(1, 1, 4)] },
  { name: "scalars", inputs: [f32(33), f32(), f32()] },
  { name: "three scalars", inputs: [f32(), f32(), f32()] },
  { name: "empty", inputs: [f32(0, 4), f32(4), f32()] },
];

/** What they all refuse. */
export const ternaryMistakes: readonly WrongCase[] = [
  {
    name: "second shape",
    inputs: [f32(2, 3), f32(2), f32()],
    error: "ShapeError",
    message: /shapes that broadcast .* got \[2, 3\] and \[2\]/,
  },
  { name: "third shape", inputs: [f32(2, 3), f32(), f32(4)], error: "ShapeError", message: /got \[2, 3\] and \[4\]/ },
  { name: "dtype of a", inputs: [tensor("i32", 2), f32(2), f32(2)], error: "DTypeError", message: /a in f32, got i32/ },
  { name: "dtype of b", inputs: [f32(2), tensor("f16", 2), f32(2)], error: "DTypeError", message: /b in f32, got f16/ },
];
