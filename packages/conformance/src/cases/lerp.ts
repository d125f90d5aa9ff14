import { lerpGoldens } from "../goldens/lerp.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";
import { ternaryCases, ternaryMistakes } from "./shared/ternary.ts";

export const lerp: OpCases<"lerp"> = {
  // Two or three roundings of values of size 1, and the last sum may cancel.
  tolerance: { f32: { rtol: 1e-6, atol: 4e-7 } },
  cases: [...lerpGoldens, ...ternaryCases],
  wrong: [
    ...ternaryMistakes,
    { name: "dtype of t", inputs: [f32(2), f32(2), tensor("q8_0", 32)], error: "DTypeError", message: /t in f32, got q8_0 .*dequantise/ },
  ],
};
