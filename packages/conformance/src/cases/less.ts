import { lessGoldens } from "../goldens/less.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const less: OpCases<"less"> = {
  tolerance: { bool: exact },
  cases: [...lessGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
