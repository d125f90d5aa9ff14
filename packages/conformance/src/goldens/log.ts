// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const logGoldens: OpCases<"log">["cases"] = [
  {
    name: "golden: log",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      -2.77258872224, -0.980829253012, -0.287682072452, 0, 0.223143551314, 0.559615787935, 1.09861228867, 2.3978952728, 4.60517018599,
      9.42104690319, -6.23832462504, 1.00017221585,
    ],
  },
];
