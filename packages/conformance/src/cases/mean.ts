import { meanGoldens } from "../goldens/mean.ts";
import { f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const mean: OpCases<"mean"> = {
  // f32 sums of up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...meanGoldens,
    ...reductionCases,
    { name: "a long row", inputs: [f32(20011)] },
    { name: "long rows", inputs: [f32(3, 20011)], params: { axis: 1 } },
    { name: "long rows with elements between", inputs: [f32(20011, 2)], params: { axis: 0 } },
  ],
  wrong: [
    ...reductionMistakes("mean"),
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 }, error: "ShapeError", message: /at least one element to reduce/ },
    { name: "nothing at all", inputs: [f32(0, 3)], error: "ShapeError", message: /at least one element to reduce/ },
  ],
};
