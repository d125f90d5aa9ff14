import { varianceGoldens } from "../goldens/variance.ts";
import { f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const variance: OpCases<"variance"> = {
  // f32 sums of up to 1037 squares of differences.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...varianceGoldens,
    ...reductionCases,
    { name: "sample", inputs: [f32(5, 67)], params: { axis: 1, correction: 1 } },
    { name: "a row that groups share", inputs: [f32(20_011)] },
    { name: "rows that groups share", inputs: [f32(2, 20_000)], params: { axis: 1, correction: 1 } },
    { name: "columns that groups share", inputs: [f32(20_000, 2)], params: { axis: 0 } },
    {
      name: "a row of large mean that groups share",
      inputs: [{ dtype: "f32", shape: [20_000], values: Array.from({ length: 20_000 }, (_, i) => 4096 + (i % 8) / 64) }],
    },
    // In one pass, E[x^2] - mean^2 has no correct digit here: the values are 2^12 + k / 64, whose squares need 37 bits.
    {
      name: "large mean",
      inputs: [{ dtype: "f32", shape: [64], values: Array.from({ length: 64 }, (_, i) => 4096 + (i % 8) / 64) }],
    },
  ],
  wrong: [
    ...reductionMistakes("variance"),
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 }, error: "ShapeError", message: /more than 0 elements to reduce/ },
    {
      name: "one of a sample",
      inputs: [f32(3, 1)],
      params: { axis: 1, correction: 1 },
      error: "ShapeError",
      message: /more than 1 elements/,
    },
    {
      name: "correction",
      inputs: [f32(3)],
      params: { correction: -1 },
      error: "ArgumentError",
      message: /correction to be a whole number from 0, got -1/,
    },
  ],
};
