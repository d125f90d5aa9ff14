// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const lerpGoldens: OpCases<"lerp">["cases"] = [
  {
    name: "golden: broadcast",
    inputs: [
      { dtype: "f32", shape: [2, 3], values: [0.46875, 0.6875, 0.4375, 0.3125, 0.90625, 0.5] },
      { dtype: "f32", shape: [3], values: [-1.9375, 0.09375, 1.71875] },
      { dtype: "f32", shape: [2, 1], values: [0.875, -0.78125] },
    ],
    golden: [-1.63671875, 0.16796875, 1.55859375, 2.0703125, 1.541015625, -0.4521484375],
  },
];
