// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const acosGoldens: OpCases<"acos">["cases"] = [
  {
    name: "golden: acos",
    inputs: [{ dtype: "f32", shape: [7], values: [-0.984375, -0.96875, -0.5625, -0.03125, 0.25, 0.625, 0.875] }],
    golden: [2.9645849673, 2.89093699125, 2.16820274344, 1.60205141529, 1.31811607165, 0.895664793858, 0.505360510284],
  },
];
