// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const addGoldens: OpCases<"add">["cases"] = [
  {
    name: "golden: same shape",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [1.53125, -2.59375, 0.15625, 0.34375, 0.625, -0.21875] },
      { dtype: "f32", shape: [2, 3], values: [-1.28125, -0.5, 0.53125, -0.5, 0.46875, 0.5625] },
    ],
    golden: [0.25, -3.09375, 0.6875, -0.15625, 1.09375, 0.34375],
  },
  {
    name: "golden: row over columns",
    inputs: [
      { dtype: "f32", shape: [2, 1, 3], values: [-1.09375, -0.6875, 0.0625, -0.28125, -0.5625, -0.3125] },
      { dtype: "f32", shape: [4, 1], values: [-1.40625, 0.5625, 1.1875, -1.8125] },
    ],
    golden: [
      -2.5, -2.09375, -1.34375, -0.53125, -0.125, 0.625, 0.09375, 0.5, 1.25, -2.90625, -2.5, -1.75, -1.6875, -1.96875, -1.71875, 0.28125, 0,
      0.25, 0.90625, 0.625, 0.875, -2.09375, -2.375, -2.125,
    ],
  },
  {
    name: "golden: scalar",
    inputs: [
      { dtype: "f32", shape: [5], values: [-0.46875, 2.15625, -1.8125, 0.5, 1.15625] },
      { dtype: "f32", shape: [], values: [2.5] },
    ],
    golden: [2.03125, 4.65625, 0.6875, 3, 3.65625],
  },
  {
    name: "golden: i32 wraps",
    inputs: [
      { dtype: "i32", shape: [4], values: [2147483647, -2147483648, 5, -7] },
      { dtype: "i32", shape: [4], values: [1, -1, 123456789, 987654321] },
    ],
    golden: [-2147483648, 2147483647, 123456794, 987654314],
  },
];
