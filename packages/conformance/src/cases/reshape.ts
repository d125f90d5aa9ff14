import { reshapeGoldens } from "../goldens/reshape.ts";
import { exact, f32, type OpCases, tensor } from "../opCases.ts";

export const reshape: OpCases<"reshape"> = {
  tolerance: { f32: exact, i32: exact, f16: exact },
  cases: [
    ...reshapeGoldens,
    { name: "flat", inputs: [f32(3, 5, 7)], params: { shape: [105] } },
    { name: "i32", inputs: [tensor("i32", 6)], params: { shape: [2, 3] } },
    { name: "of a persistent", inputs: [{ ...f32(6), as: "persistent" }], params: { shape: [3, 1, 2] } },
    { name: "of a constant", inputs: [{ ...f32(6), as: "constant" }], params: { shape: [3, 2] } },
    { name: "to a scalar", inputs: [f32(1, 1)], params: { shape: [] } },
    { name: "empty", inputs: [f32(0, 3)], params: { shape: [7, 0] } },
  ],
  wrong: [
    {
      name: "count",
      inputs: [f32(3, 5)],
      params: { shape: [14] },
      error: "ShapeError",
      message: /as many elements as \[3, 5\], got \[14\]/,
    },
    { name: "negative", inputs: [f32(3, 5)], params: { shape: [-1] }, error: "ShapeError", message: /whole numbers from 0/ },
    { name: "no list", inputs: [f32(3, 5)], params: { shape: 15 }, error: "ArgumentError", message: /a list of extents/ },
    { name: "no shape", inputs: [f32(3, 5)], error: "ArgumentError", message: /option shape, got none/ },
    {
      name: "lost symbol",
      inputs: [{ dtype: "f32", shape: [{ name: "T", max: 4 }, 2] }],
      params: { shape: [8] },
      error: "ShapeError",
      message: /T≤4, 2/,
    },
    { name: "quantised", inputs: [tensor("q8_0", 2, 32)], params: { shape: [64] }, error: "DTypeError", message: /a plain dtype/ },
  ],
};
