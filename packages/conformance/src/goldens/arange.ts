// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const arangeGoldens: OpCases<"arange">["cases"] = [
  { name: "golden: f32", inputs: [], params: { count: 7, start: -1.5, step: 0.25 }, golden: [-1.5, -1.25, -1, -0.75, -0.5, -0.25, 0] },
  { name: "golden: i32", inputs: [], params: { count: 5, start: 3, step: -2, dtype: "i32" }, golden: [3, 1, -1, -3, -5] },
];
