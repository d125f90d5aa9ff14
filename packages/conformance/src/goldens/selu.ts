// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const seluGoldens: OpCases<"selu">["cases"] = [
  {
    name: "golden: selu",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      -1.75809278902, -1.67056872877, -1.61378575887, -1.36581435337, -0.977947487491, -0.691758187803, 0.131337623419, 0.295509652694,
      0.525350493678, 1.57605148103, 2.62675246839, 13.1337623419,
    ],
  },
];
