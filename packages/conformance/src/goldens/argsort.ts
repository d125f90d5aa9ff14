// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const argsortGoldens: OpCases<"argsort">["cases"] = [
  {
    name: "golden: last axis",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    golden: [2, 1, 0, 3, 3, 1, 0, 2, 3, 2, 1, 0, 3, 0, 2, 1, 2, 3, 1, 0, 2, 0, 1, 3],
  },
  { name: "golden: stable", inputs: [{ dtype: "f32", shape: [6], values: [3, 1, 2, 1, 3, 2] }], golden: [1, 3, 2, 5, 0, 4] },
  {
    name: "golden: descending, stable",
    inputs: [{ dtype: "f32", shape: [6], values: [3, 1, 2, 1, 3, 2] }],
    params: { descending: true },
    golden: [0, 4, 2, 5, 1, 3],
  },
  {
    name: "golden: NaN is last",
    inputs: [{ dtype: "f32", shape: [5], values: [2, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0] }],
    golden: [2, 4, 0, 3, 1],
  },
];
