// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const log2Goldens: OpCases<"log2">["cases"] = [
  {
    name: "golden: log2",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      -4, -1.41503749928, -0.415037499279, 0, 0.321928094887, 0.807354922058, 1.58496250072, 3.45943161864, 6.64385618977, 13.5916976472,
      -9, 1.44294349585,
    ],
  },
];
