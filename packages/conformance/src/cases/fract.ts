import { fractGoldens } from "../goldens/fract.ts";
import type { OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const fract: OpCases<"fract"> = {
  // A difference of two f32.
  tolerance: { f32: { rtol: 0, atol: 1e-6 } },
  cases: [
    ...fractGoldens,
    ...unaryCases(-6, 6),
    { name: "edges", inputs: [{ dtype: "f32", shape: [6], values: [Number.NaN, -0, 0, 1.25, -1.25, 8388609] }] },
  ],
  wrong: unaryMistakes("fract"),
};
