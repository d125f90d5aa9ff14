import { rsqrtGoldens } from "../goldens/rsqrt.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const rsqrt: OpCases<"rsqrt"> = {
  // A root and a quotient of up to 2.5 ulp each.
  tolerance: { f32: { rtol: 2e-6, atol: 1e-7 } },
  cases: [
    ...rsqrtGoldens,
    ...unaryCases(0.01, 60),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, -1, 4, 1e30] }],
    },
  ],
  wrong: unaryMistakes("rsqrt"),
};
