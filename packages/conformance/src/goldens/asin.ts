// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const asinGoldens: OpCases<"asin">["cases"] = [
  {
    name: "golden: asin",
    inputs: [{ dtype: "f32", shape: [7], values: [-0.984375, -0.96875, -0.5625, -0.03125, 0.25, 0.625, 0.875] }],
    golden: [-1.39378864051, -1.32014066446, -0.597406416645, -0.0312550884995, 0.252680255142, 0.675131532937, 1.06543581651],
  },
];
