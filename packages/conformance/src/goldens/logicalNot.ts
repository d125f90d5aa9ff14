// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const logicalNotGoldens: OpCases<"logicalNot">["cases"] = [
  { name: "golden: not", inputs: [{ dtype: "bool", shape: [1, 4], values: [1, 1, 0, 0] }], golden: [0, 0, 1, 1] },
];
