// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const softplusGoldens: OpCases<"softplus">["cases"] = [
  {
    name: "golden: softplus",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      3.72664622812e-6, 0.0485873515737, 0.0788897342925, 0.201413277983, 0.367242032139, 0.47407698418, 0.757599035317, 0.843627457863,
      0.97407698418, 1.70141327798, 2.57888973429, 12.5000037266,
    ],
  },
];
