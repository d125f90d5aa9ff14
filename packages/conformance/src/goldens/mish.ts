// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const mishGoldens: OpCases<"mish">["cases"] = [
  {
    name: "golden: mish",
    inputs: [{ dtype: "f32", shape: [3, 4], values: [-12.5, -3, -2.5, -1.5, -0.8125, -0.5, 0.125, 0.28125, 0.5, 1.5, 2.5, 12.5] }],
    golden: [
      -4.65830778513e-5, -0.145647461276, -0.196816203907, -0.298099742167, -0.28565630809, -0.220743774652, 0.0799575708474,
      0.193422832522, 0.375245211305, 1.4033782664, 2.47139230456, 12.4999999997,
    ],
  },
];
