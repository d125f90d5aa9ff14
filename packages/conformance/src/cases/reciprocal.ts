import { reciprocalGoldens } from "../goldens/reciprocal.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const reciprocal: OpCases<"reciprocal"> = {
  // WGSL allows 2.5 ulp.
  tolerance: { f32: { rtol: 1e-6, atol: 1e-7 } },
  cases: [
    ...reciprocalGoldens,
    ...unaryCases(0.5, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [7], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 4, -1e30] }],
    },
  ],
  wrong: unaryMistakes("reciprocal"),
};
