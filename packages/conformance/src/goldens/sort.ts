// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const sortGoldens: OpCases<"sort">["cases"] = [
  {
    name: "golden: last axis",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    golden: [0.75, 1.25, 1.5, 3.5, 0.5, 1, 2.5, 4, 0, 1.75, 2, 3.25, 2.25, 4.25, 4.5, 5, 0.25, 3.75, 5.25, 5.5, 2.75, 3, 4.75, 5.75],
  },
  {
    name: "golden: axis 0",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    params: { axis: 0 },
    golden: [1.5, 1.25, 0.75, 2.25, 2.5, 1, 0.25, 0.5, 3, 2, 1.75, 0, 4.25, 5, 4.5, 3.5, 5.5, 5.25, 4, 3.75, 3.25, 4.75, 2.75, 5.75],
  },
  {
    name: "golden: descending",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    params: { axis: 1, descending: true },
    golden: [3.25, 2, 4, 3.5, 2.5, 1.25, 1.75, 0.5, 1.5, 1, 0.75, 0, 5.5, 5.25, 4.5, 5.75, 4.25, 5, 2.75, 3.75, 3, 4.75, 0.25, 2.25],
  },
  {
    name: "golden: NaN is last",
    inputs: [{ dtype: "f32", shape: [5], values: [2, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0] }],
    golden: [Number.NEGATIVE_INFINITY, 0, 2, Number.POSITIVE_INFINITY, Number.NaN],
  },
];
