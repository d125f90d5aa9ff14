// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const logicalAndGoldens: OpCases<"logicalAnd">["cases"] = [
  {
    name: "golden: truth table",
    inputs: [
      { dtype: "bool", shape: [1, 4], values: [1, 1, 0, 0] },
      { dtype: "bool", shape: [4], values: [1, 0, 1, 0] },
    ],
    golden: [1, 0, 0, 0],
  },
  {
    name: "golden: outer",
    inputs: [
      { dtype: "bool", shape: [4, 1], values: [1, 0, 1, 0] },
      { dtype: "bool", shape: [4], values: [1, 0, 1, 0] },
    ],
    golden: [1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0],
  },
];
