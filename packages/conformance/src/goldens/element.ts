// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const elementGoldens: OpCases<"element">["cases"] = [
  {
    name: "golden: f32",
    inputs: [{ dtype: "f32", shape: [2, 3], values: [1.53125, -0.09375, -0.90625, -0.4375, -0.625, 1.0625] }],
    params: { index: 4 },
    golden: [-0.625],
  },
  { name: "golden: i32", inputs: [{ dtype: "i32", shape: [3], values: [7, 8, 9] }], params: { index: 2 }, golden: [9] },
];
