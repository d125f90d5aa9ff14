import { argminGoldens } from "../goldens/argmin.ts";
import { exact, type OpCases } from "../opCases.ts";
import { extremePlaceCases, extremePlaceMistakes } from "./shared/extremePlace.ts";

export const argmin: OpCases<"argmin"> = {
  tolerance: { i32: exact },
  cases: [...argminGoldens, ...extremePlaceCases({ name: "smallest", found: -5, others: 1, ends: [9, 1] })],
  wrong: extremePlaceMistakes,
};
