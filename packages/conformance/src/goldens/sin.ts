// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const sinGoldens: OpCases<"sin">["cases"] = [
  {
    name: "golden: sin",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      0.0663218973512, -0.14112000806, -0.598472144104, -0.997494986604, -0.726008655261, -0.479425538604, 0.124674733385, 0.277556751646,
      0.479425538604, 0.997494986604, 0.598472144104, -0.0663218973512,
    ],
  },
];
