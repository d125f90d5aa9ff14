import { argmaxGoldens } from "../goldens/argmax.ts";
import { exact, type OpCases } from "../opCases.ts";
import { extremePlaceCases, extremePlaceMistakes } from "./shared/extremePlace.ts";

export const argmax: OpCases<"argmax"> = {
  tolerance: { i32: exact },
  cases: [...argmaxGoldens, ...extremePlaceCases({ name: "largest", found: 5, others: -1, ends: [1, 9] })],
  wrong: extremePlaceMistakes,
};
