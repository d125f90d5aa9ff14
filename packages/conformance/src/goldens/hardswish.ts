// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const hardswishGoldens: OpCases<"hardswish">["cases"] = [
  {
    name: "golden: hardswish",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      0, 0, -0.208333333333, -0.375, -0.296223958333, -0.208333333333, 0.0651041666667, 0.15380859375, 0.291666666667, 1.125, 2.29166666667,
      12.5,
    ],
  },
];
