import { gatherGoldens } from "../goldens/gather.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const gather: OpCases<"gather"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...gatherGoldens,
    { name: "rows", inputs: [f32(9, 13), i32([4], [8, 0, 3, 3])] },
    { name: "columns", inputs: [f32(9, 13), i32([2, 2], [12, 0, 5, 5])], params: { axis: -1 } },
    { name: "middle", inputs: [f32(2, 5, 3), i32([3], [4, 4, 0])], params: { axis: 1 } },
    { name: "one", inputs: [f32(67), i32([], [66])] },
    { name: "no index", inputs: [f32(4, 3), i32([0], [])] },
    { name: "empty rows", inputs: [f32(4, 0), i32([2], [1, 3])] },
    { name: "f16", inputs: [tensor("f16", 5, 3), i32([2], [4, 1])] },
    { name: "bool", inputs: [tensor("bool", 5), i32([2], [4, 1])] },
    { name: "aligned rows", inputs: [f32(9, 12), i32([4], [8, 0, 0, 3])] },
    { name: "aligned rows of a middle axis", inputs: [f32(2, 5, 4, 3), i32([2, 2], [4, 4, 0, 1])], params: { axis: 1 } },
    { name: "aligned halves", inputs: [tensor("f16", 5, 24), i32([3], [4, 1, 1])] },
    { name: "aligned bytes", inputs: [tensor("u8", 5, 16), i32([3], [4, 1, 0])] },
    { name: "a fallback for indices outside", inputs: [f32(9, 13), i32([5], [8, -1, 9, 0, 3])], optional: { fallback: f32(5, 13) } },
    {
      name: "a fallback along the last axis",
      inputs: [f32(9, 13), i32([2, 2], [12, -5, 13, 0])],
      params: { axis: 1 },
      optional: { fallback: f32(9, 2, 2) },
    },
    { name: "an aligned fallback", inputs: [f32(9, 16), i32([4], [8, -1, 9, 3])], optional: { fallback: f32(4, 16) } },
    { name: "a fallback of f16", inputs: [tensor("f16", 5, 3), i32([3], [4, -1, 1])], optional: { fallback: tensor("f16", 3, 3) } },
    {
      name: "single values with a fallback",
      inputs: [tensor("i32", 9), i32([4], [-1, 3, 99, 8])],
      optional: { fallback: tensor("i32", 4) },
    },
  ],
  wrong: [
    { name: "axis", inputs: [f32(2), i32([1], [0])], params: { axis: 1 }, error: "ArgumentError", message: /from -1 to 0, got 1/ },
    { name: "scalar", inputs: [f32(), i32([1], [0])], error: "ShapeError", message: /a scalar has no axes/ },
    { name: "f32 indices", inputs: [f32(2), f32(1)], error: "DTypeError", message: /indices in i32, got f32 \[1\]; cast it/ },
    {
      name: "shape of the fallback",
      inputs: [f32(9, 13), i32([4], [8, 0, 3, 3])],
      optional: { fallback: f32(4) },
      error: "ShapeError",
      message: /fallback \[4, 13\], got f32 \[4\]/,
    },
    {
      name: "dtype of the fallback",
      inputs: [f32(9), i32([1], [0])],
      optional: { fallback: i32([1], [0]) },
      error: "DTypeError",
      message: /fallback in f32/,
    },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32), i32([1], [0])], error: "DTypeError", message: /dequantise/ },
  ],
};
