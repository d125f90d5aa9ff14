// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const asinhGoldens: OpCases<"asinh">["cases"] = [
  {
    name: "golden: asinh",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      -3.22047199846, -1.81844645923, -1.64723114637, -1.19476321729, -0.742399384642, -0.48121182506, 0.124676746921, 0.277668200829,
      0.48121182506, 1.19476321729, 1.64723114637, 3.22047199846,
    ],
  },
];
