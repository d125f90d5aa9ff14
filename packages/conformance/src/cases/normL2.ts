import { normL2Goldens } from "../goldens/normL2.ts";
import { f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const normL2: OpCases<"normL2"> = {
  // f32 sums of up to 1037 squares, in any order.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...normL2Goldens,
    ...reductionCases,
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 } },
    { name: "nothing at all", inputs: [f32(0)] },
  ],
  wrong: reductionMistakes("normL2"),
};
