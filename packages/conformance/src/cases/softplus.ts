import { softplusGoldens } from "../goldens/softplus.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const softplus: OpCases<"softplus"> = {
  // Kernels may form log(1 + e), where 1 ulp of 1 is 6e-8.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...softplusGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 25, 1e4, -8, -30] }],
    },
  ],
  wrong: unaryMistakes("softplus"),
};
