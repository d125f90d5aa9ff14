// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const topKGoldens: OpCases<"topK">["cases"] = [
  {
    name: "golden: largest",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    params: { k: 2 },
    golden: [3.5, 1.5, 4, 2.5, 3.25, 2, 5, 4.5, 5.5, 5.25, 5.75, 4.75],
  },
  {
    name: "golden: smallest of axis 1",
    inputs: [
      {
        dtype: "f32",
        shape: [2, 3, 4],
        values: [1.5, 1.25, 0.75, 3.5, 2.5, 1, 4, 0.5, 3.25, 2, 1.75, 0, 4.25, 5, 4.5, 2.25, 5.5, 5.25, 0.25, 3.75, 3, 4.75, 2.75, 5.75],
      },
    ],
    params: { k: 2, axis: 1, largest: false },
    golden: [1.5, 1, 0.75, 0, 2.5, 1.25, 1.75, 0.5, 3, 4.75, 0.25, 2.25, 4.25, 5, 2.75, 3.75],
  },
];
