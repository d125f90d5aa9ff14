// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const tanGoldens: OpCases<"tan">["cases"] = [
  {
    name: "golden: tan",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      0.0664682418633, 0.142546543074, 0.747022297239, -14.1014199472, -1.05572763941, -0.546302489844, 0.125655136575, 0.288908172441,
      0.546302489844, 14.1014199472, -0.747022297239, -0.0664682418633,
    ],
  },
];
