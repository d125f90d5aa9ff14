// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const randomGoldens: OpCases<"random">["cases"] = [
  {
    name: "golden: uniform",
    inputs: [],
    params: { shape: [11], seed: 1099511640121 },
    golden: [
      0.675243973732, 0.248383998871, 0.916930675507, 0.795613110065, 0.0555614233017, 0.571747422218, 0.76709908247, 0.651281416416,
      0.552875757217, 0.165161013603, 0.891030013561,
    ],
  },
  {
    name: "golden: normal",
    inputs: [],
    params: { shape: [2, 5], seed: 1099511640121, distribution: "normal" },
    golden: [
      0.00899806395463, 0.886160978603, 0.117731022941, -0.399482282278, -2.16408115979, -1.04751270942, -0.423269404174, -0.592555030632,
      0.553239480687, 0.937640553614,
    ],
  },
  {
    name: "golden: draw 7",
    inputs: [],
    optional: { draw: { dtype: "i32", shape: [], values: [7] } },
    params: { shape: [4], seed: 1099511640121 },
    golden: [0.815257966518, 0.837895214558, 0.55856013298, 0.993141531944],
  },
];
