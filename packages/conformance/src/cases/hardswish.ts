import { hardswishGoldens } from "../goldens/hardswish.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const hardswish: OpCases<"hardswish"> = {
  // Three roundings; x + 3 cancels near -3.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...hardswishGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [
        { dtype: "f32", shape: [9], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -3, 3, -3.5, 1e30, -1e30] },
      ],
    },
  ],
  wrong: unaryMistakes("hardswish"),
};
