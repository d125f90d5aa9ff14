// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const scaleGoldens: OpCases<"scale">["cases"] = [
  {
    name: "golden: scale",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    params: { by: -2.75 },
    golden: [4.3828125, 0.9453125, 2.1484375, 1.03125, 7.3046875, 2.234375, 17.2734375, 0, -1.1171875, 0, -34.375, 34.375],
  },
];
