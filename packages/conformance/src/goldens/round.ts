// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const roundGoldens: OpCases<"round">["cases"] = [
  {
    name: "golden: round",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [-12, -3, -2, -2, -1, 0, 0, 0, 0, 2, 2, 12],
  },
];
