import { normL1Goldens } from "../goldens/normL1.ts";
import { f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const normL1: OpCases<"normL1"> = {
  // f32 sums of up to 1037 values of size 1, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-5 } },
  cases: [
    ...normL1Goldens,
    ...reductionCases,
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 } },
    { name: "nothing at all", inputs: [f32(0)] },
  ],
  wrong: reductionMistakes("normL1"),
};
