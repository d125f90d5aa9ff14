import { cumprodGoldens } from "../goldens/cumprod.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const cumprod: OpCases<"cumprod"> = {
  // Up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-4, atol: 1e-30 } },
  cases: [
    ...cumprodGoldens,
    { name: "rows", inputs: [{ dtype: "f32", shape: [5, 67], fill: { low: 0.5, high: 1.5 } }] },
    { name: "long", inputs: [{ dtype: "f32", shape: [1037], fill: { low: 0.5, high: 1.5 } }] },
    { name: "first axis", inputs: [{ dtype: "f32", shape: [67, 5], fill: { low: 0.5, high: 1.5 } }], params: { axis: 0 } },
    { name: "middle axis", inputs: [{ dtype: "f32", shape: [3, 9, 4], fill: { low: 0.5, high: 1.5 } }], params: { axis: -2 } },
    {
      name: "an odd number of columns",
      inputs: [{ dtype: "f32", shape: [2, 35, 131], fill: { low: 0.5, high: 1.5 } }],
      params: { axis: 1 },
    },
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
      message: /cumprod: expected axis to be a whole number from -2 to 1, got 2/,
    },
    { name: "null", inputs: [f32(2, 3)], params: { axis: null }, error: "ArgumentError", message: /got null/ },
    { name: "scalar", inputs: [f32()], error: "ShapeError", message: /a scalar has no axes/ },
    { name: "i32", inputs: [i32([2], [1, 2])], error: "DTypeError", message: /x in f32, got i32/ },
  ],
};
