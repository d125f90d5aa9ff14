// Written by scripts/goldens.py: the figures are numpy's, in f64.
import type { OpCases } from "../opCases.ts";

export const anyGoldens: OpCases<"any">["cases"] = [
  {
    name: "golden: all axes",
    inputs: [{ dtype: "bool", shape: [2, 3, 4], values: [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1] }],
    golden: [1],
  },
  {
    name: "golden: axis 1",
    inputs: [{ dtype: "bool", shape: [2, 3, 4], values: [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1] }],
    params: { axis: 1 },
    golden: [1, 1, 1, 1, 1, 1, 1, 1],
  },
  {
    name: "golden: axis -1 kept",
    inputs: [{ dtype: "bool", shape: [2, 3, 4], values: [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1] }],
    params: { axis: -1, keepDims: true },
    golden: [1, 1, 1, 1, 1, 1],
  },
  {
    name: "golden: axis 0",
    inputs: [{ dtype: "bool", shape: [2, 3, 4], values: [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1] }],
    params: { axis: 0 },
    golden: [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1],
  },
];
