// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const geluGoldens: OpCases<"gelu">["cases"] = [
  {
    name: "golden: tanh form",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [
      -0.0886335834869, -0.125650750959, -0.169865480855, -0.132692233108, -0.0100224206556, -0.16929302266, -5.82364365065e-12, 0,
      0.267190989534, 0, 12.5, 0,
    ],
  },
];
