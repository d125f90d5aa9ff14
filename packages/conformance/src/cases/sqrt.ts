import { sqrtGoldens } from "../goldens/sqrt.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const sqrt: OpCases<"sqrt"> = {
  // WGSL derives the root from an inverse root of 2 ulp.
  tolerance: { f32: { rtol: 1e-6, atol: 1e-7 } },
  cases: [
    ...sqrtGoldens,
    ...unaryCases(0, 60),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, -1, 4, 3e38] }],
    },
  ],
  wrong: unaryMistakes("sqrt"),
};
