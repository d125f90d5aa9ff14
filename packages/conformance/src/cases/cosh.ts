import { coshGoldens } from "../goldens/cosh.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const cosh: OpCases<"cosh"> = {
  // exp of WGSL is good to 3 + 2|x| ulp.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...coshGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 20, -20] }],
    },
  ],
  wrong: unaryMistakes("cosh"),
};
