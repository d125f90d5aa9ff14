// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const subGoldens: OpCases<"sub">["cases"] = [
  {
    name: "golden: same shape",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [1.53125, -2.59375, 0.15625, 0.34375, 0.625, -0.21875] },
      { dtype: "f32", shape: [2, 3], values: [-1.28125, -0.5, 0.53125, -0.5, 0.46875, 0.5625] },
    ],
    golden: [2.8125, -2.09375, -0.375, 0.84375, 0.15625, -0.78125],
  },
  {
    name: "golden: row over columns",
    inputs: [
      { dtype: "f32", shape: [2, 1, 3], values: [-1.09375, -0.6875, 0.0625, -0.28125, -0.5625, -0.3125] },
      { dtype: "f32", shape: [4, 1], values: [-1.40625, 0.5625, 1.1875, -1.8125] },
    ],
    golden: [
      0.3125, 0.71875, 1.46875, -1.65625, -1.25, -0.5, -2.28125, -1.875, -1.125, 0.71875, 1.125, 1.875, 1.125, 0.84375, 1.09375, -0.84375,
      -1.125, -0.875, -1.46875, -1.75, -1.5, 1.53125, 1.25, 1.5,
    ],
  },
  {
    name: "golden: scalar",
    inputs: [
      { dtype: "f32", shape: [5], values: [-0.46875, 2.15625, -1.8125, 0.5, 1.15625] },
      { dtype: "f32", shape: [], values: [2.5] },
    ],
    golden: [-2.96875, -0.34375, -4.3125, -2, -1.34375],
  },
  {
    name: "golden: i32 wraps",
    inputs: [
      { dtype: "i32", shape: [4], values: [2147483647, -2147483648, 5, -7] },
      { dtype: "i32", shape: [4], values: [1, -1, 123456789, 987654321] },
    ],
    golden: [2147483646, -2147483647, -123456784, -987654328],
  },
];
