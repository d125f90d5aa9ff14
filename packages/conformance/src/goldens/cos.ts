// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const cosGoldens: OpCases<"cos">["cases"] = [
  {
    name: "golden: cos",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      0.997798279179, -0.9899924966, -0.801143615547, 0.0707372016677, 0.687685562221, 0.87758256189, 0.992197667229, 0.960709243016,
      0.87758256189, 0.0707372016677, -0.801143615547, 0.997798279179,
    ],
  },
];
