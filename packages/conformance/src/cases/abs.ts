import { absGoldens } from "../goldens/abs.ts";
import { exact, type OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const abs: OpCases<"abs"> = {
  tolerance: { f32: exact },
  cases: [
    ...absGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [
        { dtype: "f32", shape: [9], values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1, -1, 3e38, -3e38] },
      ],
    },
    { name: "NaN, infinities, denormals", inputs: [{ dtype: "f32", shape: [64], fill: "special" }] },
  ],
  wrong: unaryMistakes("abs"),
};
