// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const whereGoldens: OpCases<"where">["cases"] = [
  {
    name: "golden: broadcast",
    inputs: [
      { dtype: "bool", shape: [1, 4], values: [1, 1, 0, 0] },
      { dtype: "f32", shape: [2, 4], values: [0.90625, -0.28125, 0.4375, 0.125, 0.28125, -0.65625, -1.125, -0.28125] },
      { dtype: "f32", shape: [2, 1], values: [0.46875, 1.4375] },
    ],
    golden: [0.90625, -0.28125, 0.46875, 0.46875, 0.28125, -0.65625, 1.4375, 1.4375],
  },
  {
    name: "golden: i32",
    inputs: [
      { dtype: "bool", shape: [4], values: [1, 0, 1, 0] },
      { dtype: "i32", shape: [4], values: [2147483647, -2147483648, 5, -7] },
      { dtype: "i32", shape: [4], values: [1, -1, 5, 987654321] },
    ],
    golden: [2147483647, -1, 5, 987654321],
  },
];
