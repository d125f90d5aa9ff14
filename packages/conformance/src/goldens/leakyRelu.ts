// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const leakyReluGoldens: OpCases<"leakyRelu">["cases"] = [
  {
    name: "golden: slope 0.25",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    params: { slope: 0.25 },
    golden: [-0.3984375, -0.0859375, -0.1953125, -0.09375, -0.6640625, -0.203125, -1.5703125, 0, 0.40625, 0, 12.5, -3.125],
  },
  {
    name: "golden: default slope",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [-0.0159375, -0.0034375, -0.0078125, -0.00375, -0.0265625, -0.008125, -0.0628125, 0, 0.40625, 0, 12.5, -0.125],
  },
];
