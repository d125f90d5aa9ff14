import { asinGoldens } from "../goldens/asin.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const asin: OpCases<"asin"> = {
  // A polynomial in f32, with a root of 2 ulp near 1.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...asinGoldens,
    ...unaryCases(-1, 1),
    { name: "edges", inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, 0, 1, -1, 1.5, -2] }] },
  ],
  wrong: unaryMistakes("asin"),
};
