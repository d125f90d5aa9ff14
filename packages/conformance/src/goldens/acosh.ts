// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const acoshGoldens: OpCases<"acosh">["cases"] = [
  {
    name: "golden: acosh",
    inputs: [{ dtype: "f32", shape: [6], values: [1, 1.03125, 1.5, 2.25, 10, 1000.5] }],
    golden: [0, 0.249353493843, 0.962423650119, 1.45057451382, 2.99322284613, 7.60140208483],
  },
];
