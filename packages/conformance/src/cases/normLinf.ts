import { normLinfGoldens } from "../goldens/normLinf.ts";
import { exact, f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const normLinf: OpCases<"normLinf"> = {
  tolerance: { f32: exact },
  cases: [
    ...normLinfGoldens,
    ...reductionCases,
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 } },
    { name: "nothing at all", inputs: [f32(0)] },
  ],
  wrong: reductionMistakes("normLinf"),
};
