import { ceilGoldens } from "../goldens/ceil.ts";
import { exact, type OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const ceil: OpCases<"ceil"> = {
  tolerance: { f32: exact },
  cases: [
    ...ceilGoldens,
    ...unaryCases(-6, 6),
    {
      name: "edges",
      inputs: [
        {
          dtype: "f32",
          shape: [12],
          values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1, -1, 3e38, -3e38, 0.5, -0.5, 8388609],
        },
      ],
    },
  ],
  wrong: unaryMistakes("ceil"),
};
