// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const expandGoldens: OpCases<"expand">["cases"] = [
  {
    name: "golden: broadcast_to",
    inputs: [{ dtype: "f32", shape: [3, 1], values: [-1.75, -0.03125, 0.15625] }],
    params: { shape: [2, 3, 4] },
    golden: [
      -1.75, -1.75, -1.75, -1.75, -0.03125, -0.03125, -0.03125, -0.03125, 0.15625, 0.15625, 0.15625, 0.15625, -1.75, -1.75, -1.75, -1.75,
      -0.03125, -0.03125, -0.03125, -0.03125, 0.15625, 0.15625, 0.15625, 0.15625,
    ],
  },
];
