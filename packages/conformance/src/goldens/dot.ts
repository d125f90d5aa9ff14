// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const dotGoldens: OpCases<"dot">["cases"] = [
  {
    name: "golden: dot",
    inputs: [
      { dtype: "f32", shape: [11], values: [-0.625, 0.375, -0.71875, -0.5, -0.4375, 1.15625, 0.65625, 1.4375, 0.5625, -0.46875, 1.46875] },
      { dtype: "f32", shape: [11], values: [0.125, -0.5625, -2.53125, -0.96875, -1.25, -0.96875, 3.03125, -0.875, -0.3125, 1.25, -0.5] },
    ],
    golden: [0.6767578125],
  },
];
