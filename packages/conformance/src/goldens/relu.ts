// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const reluGoldens: OpCases<"relu">["cases"] = [
  {
    name: "golden: relu",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [0, 0, 0, 0, 0, 0, 0, 0, 0.40625, 0, 12.5, 0],
  },
];
