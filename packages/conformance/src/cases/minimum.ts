import { minimumGoldens } from "../goldens/minimum.ts";
import { exact, type OpCases } from "../opCases.ts";
import { extremumCases, extremumMistakes } from "./shared/extremum.ts";

export const minimum: OpCases<"minimum"> = {
  tolerance: { f32: exact, i32: exact },
  cases: [...minimumGoldens, ...extremumCases],
  wrong: extremumMistakes,
};
