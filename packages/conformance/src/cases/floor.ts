import { floorGoldens } from "../goldens/floor.ts";
import { exact, type OpCases } from "../opCases.ts";
import { unaryCases, unaryMistakes } from "./shared/unary.ts";

export const floor: OpCases<"floor"> = {
  tolerance: { f32: exact },
  cases: [
    ...floorGoldens,
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
  wrong: unaryMistakes("floor"),
};
