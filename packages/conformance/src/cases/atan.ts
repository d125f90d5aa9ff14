import { atanGoldens } from "../goldens/atan.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const atan: OpCases<"atan"> = {
  // A polynomial in f32.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...atanGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 1e10, -1e10] }],
    },
  ],
  wrong: unaryMistakes("atan"),
};
