// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const topKIndicesGoldens: OpCases<"topKIndices">["cases"] = [
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
    golden: [3, 0, 2, 0, 0, 1, 1, 2, 0, 1, 3, 1],
  },
  { name: "golden: ties", inputs: [{ dtype: "f32", shape: [6], values: [3, 1, 2, 1, 3, 2] }], params: { k: 3 }, golden: [0, 4, 2] },
];
