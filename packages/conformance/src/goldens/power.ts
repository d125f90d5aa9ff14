// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const powerGoldens: OpCases<"power">["cases"] = [
  {
    name: "golden: row of exponents",
    inputs: [
      { dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] },
      { dtype: "f32", shape: [3], values: [-1.5, 0.5, 2] },
    ],
    golden: [
      64, 0.612372435696, 0.5625, 1, 1.11803398875, 3.0625, 0.19245008973, 3.31662479036, 10000, 7.29015856037e-7, 0.0441941738242,
      7.3916015625,
    ],
  },
  {
    name: "golden: edges",
    inputs: [
      {
        dtype: "f32",
        shape: [12],
        values: [1, -1, 0, 3, -2, -2, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1, 0, -1],
      },
      {
        dtype: "f32",
        shape: [12],
        values: [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 0.5, -3, -1, 3, 0, Number.NEGATIVE_INFINITY, 0, Number.NEGATIVE_INFINITY],
      },
    ],
    golden: [1, 1, Number.POSITIVE_INFINITY, 1.73205080757, Number.NaN, -0.125, 0, Number.NEGATIVE_INFINITY, 1, 1, 1, 1],
  },
];
