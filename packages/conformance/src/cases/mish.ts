import { mishGoldens } from "../goldens/mish.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const mish: OpCases<"mish"> = {
  // Four functions of a few ulp each.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...mishGoldens,
    ...unaryCases(-6, 6),
    { name: "edges", inputs: [{ dtype: "f32", shape: [7], values: [Number.NaN, Number.POSITIVE_INFINITY, 0, 25, 1e4, -8, -30] }] },
  ],
  wrong: unaryMistakes("mish"),
};
