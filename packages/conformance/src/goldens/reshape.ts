// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const reshapeGoldens: OpCases<"reshape">["cases"] = [
  {
    name: "golden: reshape",
    inputs: [{ dtype: "f32", shape: [2, 3], values: [1.53125, -0.09375, -0.90625, -0.4375, -0.625, 1.0625] }],
    params: { shape: [3, 2] },
    golden: [1.53125, -0.09375, -0.90625, -0.4375, -0.625, 1.0625],
  },
];
