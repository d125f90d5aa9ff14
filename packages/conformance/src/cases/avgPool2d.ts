import { avgPool2dGoldens } from "../goldens/avgPool2d.ts";
import { f32, type OpCases } from "../opCases.ts";
import { pool2dCases, pool2dMistakes } from "./shared/pool2d.ts";

export const avgPool2d: OpCases<"avgPool2d"> = {
  // Up to 20 values of size 1.
  tolerance: { f32: { rtol: 1e-6, atol: 1e-6 } },
  cases: [
    ...avgPool2dGoldens,
    ...pool2dCases,
    { name: "padding not counted", inputs: [f32(1, 2, 5, 5)], params: { kernel: [3, 3], padding: [1, 1], countPadding: false } },
  ],
  wrong: [
    ...pool2dMistakes,
    {
      name: "countPadding",
      inputs: [f32(1, 3, 8, 8)],
      params: { kernel: [2, 2], countPadding: 1 },
      error: "ArgumentError",
      message: /countPadding to be true or false, got 1/,
    },
  ],
};
