// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const tanhGoldens: OpCases<"tanh">["cases"] = [
  {
    name: "golden: tanh",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 4],
        values: [-1.59375, -0.34375, -0.78125, -0.375, -2.65625, -0.8125, -6.28125, 0, 0.40625, 0, 12.5, -12.5],
      },
    ],
    golden: [
      -0.920722321798, -0.330821117494, -0.653423588141, -0.358357398351, -0.990189188589, -0.670967074207, -0.999992998291, 0,
      0.385283966269, 0, 0.999999999972, -0.999999999972,
    ],
  },
];
