import { sumGoldens } from "../goldens/sum.ts";
import { f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const sum: OpCases<"sum"> = {
  // f32 sums of up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...sumGoldens,
    ...reductionCases,
    // Sums of 20,000 values of size 1 in any order.
    { name: "a long row", inputs: [f32(20011)], tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "long rows", inputs: [f32(3, 20011)], params: { axis: 1 }, tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "long rows with elements between", inputs: [f32(20011, 2)], params: { axis: 0 }, tolerance: { rtol: 1e-5, atol: 5e-4 } },
    { name: "columns that groups share", inputs: [f32(3000, 12)], params: { axis: 0 }, tolerance: { rtol: 1e-5, atol: 1e-4 } },
    { name: "columns after an axis", inputs: [f32(2, 2100, 131)], params: { axis: 1 }, tolerance: { rtol: 1e-5, atol: 1e-4 } },
    // The groups' shares of 33 rows go beyond the last row: the last group has none.
    { name: "columns that groups share unevenly", inputs: [f32(1281, 128)], params: { axis: 0 }, tolerance: { rtol: 1e-5, atol: 1e-4 } },
    { name: "no elements in columns", inputs: [f32(0, 4)], params: { axis: 0 } },
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 } },
    { name: "nothing at all", inputs: [f32(0)] },
  ],
  wrong: reductionMistakes("sum"),
};
