// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const atanGoldens: OpCases<"atan">["cases"] = [
  {
    name: "golden: atan",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      -1.49096634108, -1.2490457724, -1.19028994968, -0.982793723247, -0.682316554875, -0.463647609001, 0.124354994547, 0.27416745112,
      0.463647609001, 0.982793723247, 1.19028994968, 1.49096634108,
    ],
  },
];
