// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const argminGoldens: OpCases<"argmin">["cases"] = [
  {
    name: "golden: first of equals",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [3, 1, 1, 2, -5, 1, -5, -5, 2, 2, 4, 2] }],
    golden: [1, 0, 0],
  },
  {
    name: "golden: axis 0",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [3, 1, 1, 2, -5, 1, -5, -5, 2, 2, 4, 2] }],
    params: { axis: 0 },
    golden: [1, 0, 1, 1],
  },
  {
    name: "golden: NaN is the smallest",
    inputs: [
      {
        dtype: "f32",
        shape: [3, 3],
        values: [
          1,
          Number.NaN,
          3,
          Number.POSITIVE_INFINITY,
          2,
          Number.NaN,
          Number.POSITIVE_INFINITY,
          Number.POSITIVE_INFINITY,
          Number.POSITIVE_INFINITY,
        ],
      },
    ],
    golden: [1, 2, 0],
  },
];
