import { tanGoldens } from "../goldens/tan.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const tan: OpCases<"tan"> = {
  // A quotient of sine and cosine, each good to 1e-6; the fill stays away from the poles.
  tolerance: { f32: { rtol: 2e-5, atol: 2e-6 } },
  cases: [
    ...tanGoldens,
    ...unaryCases(-1.4, 1.4),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 3, -4] }],
    },
  ],
  wrong: unaryMistakes("tan"),
};
