import { fmaGoldens } from "../goldens/fma.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";
import { ternaryCases, ternaryMistakes } from "./shared/ternary.ts";

export const fma: OpCases<"fma"> = {
  // Two or three roundings of values of size 1, and the last sum may cancel.
  tolerance: { f32: { rtol: 1e-6, atol: 4e-7 } },
  cases: [...fmaGoldens, ...ternaryCases],
  wrong: [
    ...ternaryMistakes,
    { name: "dtype of c", inputs: [f32(2), f32(2), tensor("q8_0", 32)], error: "DTypeError", message: /c in f32, got q8_0 .*dequantise/ },
  ],
};
