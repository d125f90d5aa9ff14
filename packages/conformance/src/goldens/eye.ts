// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const eyeGoldens: OpCases<"eye">["cases"] = [
  { name: "golden: square", inputs: [], params: { rows: 3 }, golden: [1, 0, 0, 0, 1, 0, 0, 0, 1] },
  { name: "golden: tall", inputs: [], params: { rows: 4, columns: 2 }, golden: [1, 0, 0, 1, 0, 0, 0, 0] },
];
