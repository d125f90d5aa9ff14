// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const rsqrtGoldens: OpCases<"rsqrt">["cases"] = [
  {
    name: "golden: rsqrt",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      4, 1.63299316186, 1.15470053838, 1, 0.894427191, 0.755928946018, 0.57735026919, 0.301511344578, 0.1, 0.00900006525071, 22.627416998,
      0.606478434863,
    ],
  },
];
