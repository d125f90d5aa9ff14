// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const log10Goldens: OpCases<"log10">["cases"] = [
  {
    name: "golden: log10",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      -1.20411998266, -0.425968732272, -0.124938736608, 0, 0.0969100130081, 0.243038048686, 0.47712125472, 1.04139268516, 2, 4.09150868381,
      -2.70926996098, 0.434369274299,
    ],
  },
];
