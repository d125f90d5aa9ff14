// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const sqrtGoldens: OpCases<"sqrt">["cases"] = [
  {
    name: "golden: sqrt",
    inputs: [{ dtype: "f32", shape: [4, 3], values: [0.0625, 0.375, 0.75, 1, 1.25, 1.75, 3, 11, 100, 12345.5, 0.001953125, 2.71875] }],
    golden: [
      0.25, 0.612372435696, 0.866025403784, 1, 1.11803398875, 1.32287565553, 1.73205080757, 3.31662479036, 10, 111.110305553,
      0.0441941738242, 1.64886324478,
    ],
  },
];
