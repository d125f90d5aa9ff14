// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const assignGoldens: OpCases<"assign">["cases"] = [
  {
    name: "golden: assign",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [1.53125, -0.09375, -0.90625, -0.4375, -0.625, 1.0625] },
      { dtype: "f32", shape: [2, 3], values: [-0.125, 1.875, -0.875, -1.9375, -0.84375, -0.125] },
    ],
    golden: [-0.125, 1.875, -0.875, -1.9375, -0.84375, -0.125],
  },
];
