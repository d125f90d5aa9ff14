import { cumsumGoldens } from "../goldens/cumsum.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const cumsum: OpCases<"cumsum"> = {
  // Up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...cumsumGoldens,
    { name: "rows", inputs: [{ dtype: "f32", shape: [5, 67], fill: { low: -1, high: 1 } }] },
    { name: "long", inputs: [{ dtype: "f32", shape: [1037], fill: { low: -1, high: 1 } }] },
    { name: "first axis", inputs: [{ dtype: "f32", shape: [67, 5], fill: { low: -1, high: 1 } }], params: { axis: 0 } },
    { name: "middle axis", inputs: [{ dtype: "f32", shape: [3, 9, 4], fill: { low: -1, high: 1 } }], params: { axis: -2 } },
    // Up to 40,000 values of size 1, in any order.
    { name: "a row that groups share", inputs: [f32(40_000)], tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "odd rows that groups share", inputs: [f32(2, 33_001)], tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "a first axis that groups share", inputs: [f32(33_000, 2)], params: { axis: 0 }, tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "channels of an image", inputs: [f32(2, 21, 6, 11)], params: { axis: 1 } },
    { name: "an odd number of columns", inputs: [f32(2, 35, 131)], params: { axis: 1 } },
    { name: "fewer rows than lanes have", inputs: [f32(2, 3, 260)], params: { axis: 1 } },
    { name: "columns that groups share", inputs: [f32(1281, 16)], params: { axis: 0 }, tolerance: { rtol: 1e-5, atol: 5e-5 } },
    { name: "axis of 1", inputs: [f32(4, 1)], params: { axis: 1 } },
    { name: "empty axis", inputs: [f32(3, 0)] },
    { name: "no rows", inputs: [f32(0, 4)] },
    {
      name: "NaN and infinities",
      inputs: [{ dtype: "f32", shape: [2, 3], values: [1, Number.NaN, 2, Number.POSITIVE_INFINITY, 1, Number.NEGATIVE_INFINITY] }],
    },
  ],
  wrong: [
    {
      name: "axis",
      inputs: [f32(2, 3)],
      params: { axis: 2 },
      error: "ArgumentError",
      message: /cumsum: expected axis to be a whole number from -2 to 1, got 2/,
    },
    { name: "null", inputs: [f32(2, 3)], params: { axis: null }, error: "ArgumentError", message: /got null/ },
    { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32, got i32/ },
  ],
};
