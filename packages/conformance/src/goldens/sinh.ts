// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const sinhGoldens: OpCases<"sinh">["cases"] = [
  {
    name: "golden: sinh",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      -134168.643259, -10.0178749274, -6.05020448104, -2.12927945509, -0.904893738566, -0.521095305494, 0.125325775241, 0.28497257837,
      0.521095305494, 2.12927945509, 6.05020448104, 134168.643259,
    ],
  },
];
