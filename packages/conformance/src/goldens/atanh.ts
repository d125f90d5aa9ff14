// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const atanhGoldens: OpCases<"atanh">["cases"] = [
  {
    name: "golden: atanh",
    inputs: [{ dtype: "f32", shape: [7], values: [-0.984375, -0.96875, -0.5625, -0.03125, 0.25, 0.625, 0.875] }],
    golden: [-2.42209354323, -2.0715673632, -0.636482837906, -0.0312601784907, 0.255412811883, 0.733168534397, 1.35402510055],
  },
];
