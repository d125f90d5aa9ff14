import { log2Goldens } from "../goldens/log2.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const log2: OpCases<"log2"> = {
  // WGSL bounds the error near 1 absolutely, by 2^-21.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...log2Goldens,
    ...unaryCases(0.01, 60),
    {
      name: "edges",
      inputs: [
        { dtype: "f32", shape: [10], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, -1, 1, 2, 10, 3e38] },
      ],
    },
  ],
  wrong: unaryMistakes("log2"),
};
