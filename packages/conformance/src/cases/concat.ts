import { concatGoldens } from "../goldens/concat.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const concat: OpCases<"concat"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...concatGoldens,
    { name: "rows", inputs: [f32(3, 13), f32(5, 13)], params: { axis: 0 } },
    { name: "columns", inputs: [f32(9, 4), f32(9, 7)], params: { axis: -1 } },
    { name: "middle", inputs: [f32(2, 3, 4), f32(2, 1, 4)], params: { axis: 1 } },
    { name: "vectors", inputs: [f32(3), f32(67)], params: { axis: 0 } },
    { name: "nothing first", inputs: [f32(0, 3), f32(2, 3)], params: { axis: 0 } },
    { name: "nothing second", inputs: [f32(2, 3), f32(2, 0)], params: { axis: 1 } },
    { name: "empty beside the axis", inputs: [f32(2, 0), f32(3, 0)], params: { axis: 0 } },
    { name: "one", inputs: [f32(3, 4)], params: { axis: 1 } },
    { name: "eleven", inputs: Array.from({ length: 11 }, (_, i) => f32(3, i, 2)), params: { axis: 1 } },
    { name: "twelve f16", inputs: Array.from({ length: 12 }, (_, i) => tensor("f16", 3, i % 4, 2)), params: { axis: 1 } },
    { name: "sixteen u8", inputs: Array.from({ length: 16 }, (_, i) => tensor("u8", 3, 1 + (i % 3))), params: { axis: 1 } },
    { name: "i32", inputs: [tensor("i32", 3), tensor("i32", 5)], params: { axis: 0 } },
    { name: "bool", inputs: [tensor("bool", 3), tensor("bool", 5)], params: { axis: 0 } },
  ],
  wrong: [
    {
      name: "shapes",
      inputs: [f32(2, 3), f32(2, 4)],
      params: { axis: 0 },
      error: "ShapeError",
      message: /shapes that differ only along axis 0, got f32 \[2, 3\] and f32 \[2, 4\]/,
    },
    { name: "ranks", inputs: [f32(2, 3), f32(3)], params: { axis: 0 }, error: "ShapeError", message: /differ only along axis 0/ },
    { name: "none", inputs: [], params: { axis: 0 }, error: "ArgumentError", message: /at least one of tensors, got none/ },
    {
      name: "third shape",
      inputs: [f32(2, 3), f32(1, 3), f32(2, 2)],
      params: { axis: 0 },
      error: "ShapeError",
      message: /only along axis 0, got f32 \[2, 3\] and f32 \[2, 2\]/,
    },
    { name: "third dtype", inputs: [f32(2), f32(2), tensor("u8", 2)], params: { axis: 0 }, error: "DTypeError", message: /f32 and u8/ },
    { name: "mixed", inputs: [f32(2), tensor("i32", 2)], params: { axis: 0 }, error: "DTypeError", message: /one dtype, got f32 and i32/ },
    { name: "axis", inputs: [f32(2), f32(2)], params: { axis: 1 }, error: "ArgumentError", message: /from -1 to 0, got 1/ },
    { name: "no axis", inputs: [f32(2), f32(2)], error: "ArgumentError", message: /option axis, got none/ },
    { name: "scalars", inputs: [f32(), f32()], params: { axis: 0 }, error: "ShapeError", message: /a scalar has no axes/ },
    {
      name: "symbolic axis",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }, f32(3, 2)],
      params: { axis: 0 },
      error: "ShapeError",
      message: /axis 0 of tensors\[0\] to be a number, got the symbolic dim T/,
    },
    {
      name: "quantised",
      inputs: [tensor("q8_0", 2, 32), tensor("q8_0", 2, 32)],
      params: { axis: 0 },
      error: "DTypeError",
      message: /dequantise/,
    },
  ],
};
