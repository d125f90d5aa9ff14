import { geluErfGoldens } from "../goldens/geluErf.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const geluErf: OpCases<"geluErf"> = {
  // 1 + erf(u) cancels for negative x; kernels may use a polynomial for erf that is good to 1.5e-7.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [
    ...geluErfGoldens,
    ...unaryCases(-6, 6),
    { name: "edges", inputs: [{ dtype: "f32", shape: [8], values: [Number.NaN, 0, 8, 50, 1e4, -8, -50, Number.POSITIVE_INFINITY] }] },
  ],
  wrong: unaryMistakes("geluErf"),
};
