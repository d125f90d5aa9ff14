import { expGoldens } from "../goldens/exp.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const exp: OpCases<"exp"> = {
  // WGSL allows 3 + 2|x| ulp.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-7 } },
  cases: [
    ...expGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [
        { dtype: "f32", shape: [9], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1, 88, -80, 90, -200] },
      ],
    },
  ],
  wrong: unaryMistakes("exp"),
};
