import { expandGoldens } from "../goldens/expand.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const expand: OpCases<"expand"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...expandGoldens,
    { name: "rows", inputs: [f32(67)], params: { shape: [5, 67] } },
    { name: "columns", inputs: [f32(9, 1)], params: { shape: [9, 13] } },
    { name: "middle", inputs: [f32(3, 1, 4)], params: { shape: [2, 3, 5, 4] } },
    { name: "scalar", inputs: [f32()], params: { shape: [3, 5] } },
    { name: "the same", inputs: [f32(3, 5)], params: { shape: [3, 5] } },
    { name: "to nothing", inputs: [f32(1, 4)], params: { shape: [0, 4] } },
    { name: "bool", inputs: [tensor("bool", 3, 1)], params: { shape: [3, 5] } },
    { name: "f16", inputs: [tensor("f16", 5)], params: { shape: [3, 5] } },
    { name: "aligned rows", inputs: [f32(2, 1, 8)], params: { shape: [3, 2, 5, 8] } },
    { name: "aligned halves", inputs: [tensor("f16", 16)], params: { shape: [3, 16] } },
    { name: "aligned bytes of one", inputs: [tensor("i8", 1, 1, 16)], params: { shape: [3, 2, 16] } },
  ],
  wrong: [
    {
      name: "shape",
      inputs: [f32(3)],
      params: { shape: [4] },
      error: "ShapeError",
      message: /shapes that broadcast .*got \[3\] and \[4\]/,
    },
    {
      name: "smaller",
      inputs: [f32(3)],
      params: { shape: [1] },
      error: "ShapeError",
      message: /a shape that \[3\] broadcasts to, got \[1\]/,
    },
    {
      name: "lower rank",
      inputs: [f32(1, 3)],
      params: { shape: [3] },
      error: "ShapeError",
      message: /a shape that \[1, 3\] broadcasts to/,
    },
    {
      name: "symbolic to a number",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }],
      params: { shape: [4, 2] },
      error: "ShapeError",
      message: /T≤4/,
    },
    { name: "negative", inputs: [f32(1)], params: { shape: [-1] }, error: "ShapeError", message: /whole numbers from 0/ },
    { name: "no list", inputs: [f32(1)], params: { shape: 3 }, error: "ArgumentError", message: /a list of extents, got 3/ },
    { name: "no shape", inputs: [f32(1)], error: "ArgumentError", message: /option shape, got none/ },
    { name: "quantised", inputs: [tensor("q8_0", 1, 32)], params: { shape: [2, 32] }, error: "DTypeError", message: /dequantise/ },
  ],
};
