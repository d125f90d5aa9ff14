import { maximumGoldens } from "../goldens/maximum.ts";
import { exact, type OpCases } from "../opCases.ts";
import { extremumCases, extremumMistakes } from "./shared/extremum.ts";

export const maximum: OpCases<"maximum"> = {
  tolerance: { f32: exact, i32: exact },
  cases: [...maximumGoldens, ...extremumCases],
  wrong: extremumMistakes,
};
