// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const dequantizeGoldens: OpCases<"dequantize">["cases"] = [
  {
    name: "golden: f16",
    inputs: [{ dtype: "f16", shape: [9], values: [0.03125, -0.40625, 0.4375, -0.8125, 1.28125, -0.21875, -2.75, 0.53125, 0.375] }],
    golden: [0.03125, -0.40625, 0.4375, -0.8125, 1.28125, -0.21875, -2.75, 0.53125, 0.375],
  },
];
