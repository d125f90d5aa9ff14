import { acoshGoldens } from "../goldens/acosh.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const acosh: OpCases<"acosh"> = {
  // A logarithm whose error near 1 is bounded absolutely.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...acoshGoldens,
    ...unaryCases(1.1, 9),
    { name: "edges", inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, 1, 0.5, -1, 1e10] }] },
  ],
  wrong: unaryMistakes("acosh"),
};
