import { elementGoldens } from "../goldens/element.ts";
import { exact, f32, i32, type OpCases, tensor } from "../opCases.ts";

export const element: OpCases<"element"> = {
  tolerance: { f32: exact, i32: exact },
  cases: [
    ...elementGoldens,
    { name: "first", inputs: [f32(3, 67)], params: { index: 0 } },
    { name: "last", inputs: [f32(3, 67)], params: { index: 200 } },
    { name: "of a persistent", inputs: [{ ...tensor("i32", 5), as: "persistent" }], params: { index: 3 } },
    { name: "of a scalar", inputs: [f32()], params: { index: 0 } },
  ],
  wrong: [
    {
      name: "outside",
      inputs: [f32(3, 2)],
      params: { index: 6 },
      error: "ArgumentError",
      message: /an index below 6 for f32 \[3, 2\], got 6/,
    },
    {
      name: "negative",
      inputs: [f32(3)],
      params: { index: -1 },
      error: "ArgumentError",
      message: /index to be a whole number from 0, got -1/,
    },
    { name: "no index", inputs: [i32([1], [1])], error: "ArgumentError", message: /option index, got none/ },
    { name: "dtype", inputs: [tensor("f16", 3)], params: { index: 0 }, error: "DTypeError", message: /x in f32 or i32/ },
  ],
};
