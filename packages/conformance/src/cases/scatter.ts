import { scatterGoldens } from "../goldens/scatter.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const scatter: OpCases<"scatter"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...scatterGoldens,
    { name: "rows", inputs: [f32(9, 13), i32([3], [8, 0, 3]), f32(3, 13)] },
    { name: "columns", inputs: [f32(9, 13), i32([2], [12, 0]), f32(9, 2)], params: { axis: -1 } },
    { name: "middle", inputs: [f32(2, 5, 3), i32([3], [4, 4, 0]), f32(2, 3, 3)], params: { axis: 1 } },
    { name: "none", inputs: [f32(4, 3), i32([0], []), f32(0, 3)] },
    { name: "i32 adds and wraps", inputs: [i32([2], [2147483647, 5]), i32([3], [0, 1, 1]), i32([3], [1, 2, 3])], params: { mode: "add" } },
    { name: "bf16", inputs: [tensor("bf16", 5), i32([2], [4, 1]), tensor("bf16", 2)] },
  ],
  wrong: [
    {
      name: "updates",
      inputs: [f32(9, 3), i32([2], [0, 1]), f32(3, 3)],
      error: "ShapeError",
      message: /updates \[2, 3\], got f32 \[3, 3\]/,
    },
    {
      name: "dtype of updates",
      inputs: [f32(9), i32([1], [0]), tensor("i32", 1)],
      error: "DTypeError",
      message: /updates in f32 as x, got i32; cast/,
    },
    { name: "rank of indices", inputs: [f32(9), i32([1, 1], [0]), f32(1, 1)], error: "ShapeError", message: /indices \[m\]/ },
    { name: "f32 indices", inputs: [f32(9), f32(1), f32(1)], error: "DTypeError", message: /indices in i32/ },
    {
      name: "mode",
      inputs: [f32(9), i32([1], [0]), f32(1)],
      params: { mode: "max" },
      error: "ArgumentError",
      message: /mode to be "replace" or "add", got "max"/,
    },
    {
      name: "adding f16",
      inputs: [tensor("f16", 9), i32([1], [0]), tensor("f16", 1)],
      params: { mode: "add" },
      error: "DTypeError",
      message: /x in f32 or i32/,
    },
    { name: "axis", inputs: [f32(9), i32([1], [0]), f32(1)], params: { axis: 1 }, error: "ArgumentError", message: /got 1/ },
    { name: "scalar", inputs: [f32(), i32([1], [0]), f32(1)], error: "ShapeError", message: /a scalar has no axes/ },
    {
      name: "quantised",
      inputs: [tensor("q8_0", 2, 32), i32([1], [0]), tensor("q8_0", 1, 32)],
      error: "DTypeError",
      message: /dequantise/,
    },
  ],
};
