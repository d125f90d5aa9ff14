// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const sigmoidGoldens: OpCases<"sigmoid">["cases"] = [
  {
    name: "golden: sigmoid",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [
      0.168856952142, 0.414898845797, 0.314050544992, 0.407333400046, 0.0656048374591, 0.307358016865, 0.00186756597789, 0.5, 0.60018835926,
      0.5, 0.999996273361, 3.72663928419e-6,
    ],
  },
];
