import { logSoftmaxGoldens } from "../goldens/logSoftmax.ts";
import type { OpCases } from "../opCases.ts";
import { softmaxCases, softmaxMistakes } from "./shared/softmax.ts";

export const logSoftmax: OpCases<"logSoftmax"> = {
  // The logarithm of the row's sum is rounded to f32 at the size of the result.
  tolerance: { f32: { rtol: 1e-5, atol: 2e-6 } },
  cases: [...logSoftmaxGoldens, ...softmaxCases],
  wrong: softmaxMistakes,
};
