// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const fullGoldens: OpCases<"full">["cases"] = [
  { name: "golden: f32", inputs: [], params: { shape: [2, 3], value: 2.5 }, golden: [2.5, 2.5, 2.5, 2.5, 2.5, 2.5] },
  { name: "golden: i32", inputs: [], params: { shape: [4], value: -7, dtype: "i32" }, golden: [-7, -7, -7, -7] },
];
