// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const geluErfGoldens: OpCases<"geluErf">["cases"] = [
  {
    name: "golden: geluErf",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      0, -0.00404969409489, -0.0155241633144, -0.100210801903, -0.169205069547, -0.154268769363, 0.0687172781038, 0.171770813829,
      0.345731230637, 1.3997891981, 2.48447583669, 12.5,
    ],
  },
];
