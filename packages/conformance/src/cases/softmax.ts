import { softmaxGoldens } from "../goldens/softmax.ts";
import type { OpCases } from "../opCases.ts";
import { softmaxCases, softmaxMistakes } from "./shared/softmax.ts";

export const softmax: OpCases<"softmax"> = {
  // exp of f32 kernels is off by a few ulp, a row's sum by a few more.
  tolerance: { f32: { rtol: 2e-5, atol: 1e-7 } },
  cases: [...softmaxGoldens, ...softmaxCases],
  wrong: softmaxMistakes,
};
