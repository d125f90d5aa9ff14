import { roundGoldens } from "../goldens/round.ts";
import { exact, type OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const round: OpCases<"round"> = {
  tolerance: { f32: exact },
  cases: [
    ...roundGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [
        {
          dtype: "f32",
          shape: [16],
          values: [
            Number.NaN,
            Number.POSITIVE_INFINITY,
            Number.NEGATIVE_INFINITY,
            -0,
            0,
            1,
            -1,
            3e38,
            -3e38,
            0.5,
            -0.5,
            1.5,
            2.5,
            -1.5,
            -2.5,
            8388609,
          ],
        },
      ],
    },
  ],
  wrong: unaryMistakes("round"),
};
