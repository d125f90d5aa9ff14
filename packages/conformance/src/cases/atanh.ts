import { atanhGoldens } from "../goldens/atanh.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const atanh: OpCases<"atanh"> = {
  // A logarithm whose error near 1 is bounded absolutely.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...atanhGoldens,
    ...unaryCases(-0.95, 0.95),
    { name: "edges", inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, 0, 1, -1, 1.5, -2] }] },
  ],
  wrong: unaryMistakes("atanh"),
};
