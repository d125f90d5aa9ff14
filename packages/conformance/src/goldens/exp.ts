// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const expGoldens: OpCases<"exp">["cases"] = [
  {
    name: "golden: exp",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      3.72665317208e-6, 0.0497870683679, 0.0820849986239, 0.223130160148, 0.443747310081, 0.606530659713, 1.13314845307, 1.32478475873,
      1.6487212707, 4.48168907034, 12.1824939607, 268337.286521,
    ],
  },
];
