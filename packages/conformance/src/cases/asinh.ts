import { asinhGoldens } from "../goldens/asinh.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const asinh: OpCases<"asinh"> = {
  // A logarithm whose error near 1 is bounded absolutely.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...asinhGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1e10, -1e10] }],
    },
  ],
  wrong: unaryMistakes("asinh"),
};
