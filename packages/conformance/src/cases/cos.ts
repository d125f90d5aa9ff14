import { cosGoldens } from "../goldens/cos.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const cos: OpCases<"cos"> = {
  // Arguments up to 100: f32 arithmetic reduces them with an error of at most one ulp of the argument.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...cosGoldens,
    ...unaryCases(-100, 100),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1000, -1000] }],
    },
  ],
  wrong: unaryMistakes("cos"),
};
