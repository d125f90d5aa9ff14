// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const coshGoldens: OpCases<"cosh">["cases"] = [
  {
    name: "golden: cosh",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      134168.643262, 10.0676619958, 6.13228947966, 2.35240961524, 1.34864104865, 1.12762596521, 1.00782267783, 1.03981218036, 1.12762596521,
      2.35240961524, 6.13228947966, 134168.643262,
    ],
  },
];
