import { seluGoldens } from "../goldens/selu.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const selu: OpCases<"selu"> = {
  // Kernels may form exp(x) - 1, which cancels near 0: 1 ulp of 1 is 6e-8.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...seluGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 88, -88] }],
    },
  ],
  wrong: unaryMistakes("selu"),
};
