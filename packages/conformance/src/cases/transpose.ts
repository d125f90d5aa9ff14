import { transposeGoldens } from "../goldens/transpose.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const transpose: OpCases<"transpose"> = {
  tolerance: { f32: exact, f16: exact, bf16: exact, i32: exact, u32: exact, i8: exact, u8: exact, bool: exact },
  cases: [
    ...transposeGoldens,
    { name: "matrix", inputs: [f32(37, 67)] },
    { name: "heads", inputs: [f32(3, 5, 7, 4)], params: { axes: [0, 2, 1, 3] } },
    { name: "negative axes", inputs: [f32(2, 3, 4)], params: { axes: [-1, 0, 1] } },
    { name: "the same order", inputs: [f32(2, 3)], params: { axes: [0, 1] } },
    { name: "f16", inputs: [tensor("f16", 3, 5)] },
    { name: "u8", inputs: [tensor("u8", 3, 5)] },
    { name: "bool", inputs: [tensor("bool", 3, 5)] },
    { name: "weight", inputs: [{ ...f32(3, 5), as: "persistent" }] },
    { name: "scalar", inputs: [f32()] },
    { name: "empty", inputs: [f32(3, 0, 2)] },
    { name: "whole tiles", inputs: [f32(128, 64)] },
    { name: "whole and partial tiles", inputs: [f32(67, 45)] },
    { name: "tiles of several matrices", inputs: [f32(2, 3, 20, 70)], params: { axes: [1, 0, 3, 2] } },
    { name: "tiles with an axis between", inputs: [f32(17, 3, 40)], params: { axes: [2, 1, 0] } },
    { name: "tiles of joined axes", inputs: [f32(4, 5, 1, 6, 7)], params: { axes: [3, 4, 0, 2, 1] } },
    { name: "tiles of halves", inputs: [tensor("f16", 66, 37)] },
    { name: "whole tiles of halves", inputs: [tensor("bf16", 64, 64)] },
    { name: "odd halves", inputs: [tensor("f16", 67, 37)] },
    { name: "tiles of bytes", inputs: [tensor("i8", 68, 40)] },
    { name: "tiles of i32", inputs: [tensor("i32", 33, 34)] },
    { name: "rows of halves", inputs: [tensor("f16", 3, 4, 8)], params: { axes: [1, 0, 2] } },
    { name: "joined aligned rows", inputs: [f32(3, 5, 2, 2)], params: { axes: [1, 0, 2, 3] } },
  ],
  wrong: [
    {
      name: "an axis twice",
      inputs: [f32(2, 3)],
      params: { axes: [0, 0] },
      error: "ArgumentError",
      message: /axes to be an order of \[0, 1\], got \[0, 0\]; name each axis once/,
    },
    { name: "an axis too few", inputs: [f32(2, 3)], params: { axes: [0] }, error: "ArgumentError", message: /got \[0\]/ },
    { name: "out of range", inputs: [f32(2, 3)], params: { axes: [0, 2] }, error: "ArgumentError", message: /got \[0, 2\]/ },
    { name: "a number", inputs: [f32(2, 3)], params: { axes: 1 }, error: "ArgumentError", message: /got 1/ },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], error: "DTypeError", message: /dequantise/ },
  ],
};
