// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const embeddingGoldens: OpCases<"embedding">["cases"] = [
  {
    name: "golden: rows",
    inputs: [
      {
        dtype: "f32",
        shape: [6, 3],
        values: [
          -1.375, 0.40625, -0.75, 0, -1.0625, -0.4375, -0.96875, -0.75, -1.3125, -0.625, 0.1875, 0.6875, -0.78125, 0.90625, 0.34375,
          -1.1875, 1.0625, -0.78125,
        ],
      },
      { dtype: "i32", shape: [2, 2], values: [5, 0, 2, 2] },
    ],
    golden: [-1.1875, 1.0625, -0.78125, -1.375, 0.40625, -0.75, -0.96875, -0.75, -1.3125, -0.96875, -0.75, -1.3125],
  },
];
