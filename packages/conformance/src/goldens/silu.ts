// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const siluGoldens: OpCases<"silu">["cases"] = [
  {
    name: "golden: silu",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [
      -0.269115767476, -0.142621478243, -0.245351988275, -0.152750025017, -0.174262849501, -0.249728388703, -0.0117306487986, 0,
      0.243826520949, 0, 12.499953417, -4.65829910523e-5,
    ],
  },
];
