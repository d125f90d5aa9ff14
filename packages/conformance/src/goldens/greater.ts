// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const greaterGoldens: OpCases<"greater">["cases"] = [
  {
    name: "golden: same shape",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [-0.90625, -0.25, 0.28125, 0.6875, -0.8125, 1.84375] },
      { dtype: "f32", shape: [2, 3], values: [-0.84375, 0.5625, 0.28125, -1, -0.59375, -0.28125] },
    ],
    golden: [0, 0, 0, 1, 0, 1],
  },
  {
    name: "golden: row over columns",
    inputs: [
      { dtype: "f32", shape: [2, 1, 3], values: [-0.625, 0.34375, 2.71875, -0.03125, 0.46875, -1.1875] },
      { dtype: "f32", shape: [4, 1], values: [-1.15625, -1.09375, 0.1875, 0.1875] },
    ],
    golden: [1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0],
  },
  {
    name: "golden: scalar",
    inputs: [
      { dtype: "f32", shape: [5], values: [-0.8125, 0.125, -1, -1.09375, 0.25] },
      { dtype: "f32", shape: [], values: [-0.5] },
    ],
    golden: [0, 1, 0, 0, 1],
  },
  {
    name: "golden: i32",
    inputs: [
      { dtype: "i32", shape: [4], values: [2147483647, -2147483648, 5, -7] },
      { dtype: "i32", shape: [4], values: [1, -1, 5, 987654321] },
    ],
    golden: [1, 0, 0, 0],
  },
  {
    name: "golden: NaN and infinities",
    inputs: [
      {
        dtype: "f32",
        shape: [7],
        values: [Number.NaN, 1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0],
      },
      {
        dtype: "f32",
        shape: [7],
        values: [1, Number.NaN, Number.NaN, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0],
      },
    ],
    golden: [0, 0, 0, 0, 0, 1, 0],
  },
];
