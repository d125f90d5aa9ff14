// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const reciprocalGoldens: OpCases<"reciprocal">["cases"] = [
  {
    name: "golden: reciprocal",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      16, 2.66666666667, 1.33333333333, 1, 0.8, 0.571428571429, 0.333333333333, 0.0909090909091, 0.01, 8.1001174517e-5, 512, 0.367816091954,
    ],
  },
];
