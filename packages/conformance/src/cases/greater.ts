import { greaterGoldens } from "../goldens/greater.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const greater: OpCases<"greater"> = {
  tolerance: { bool: exact },
  cases: [...greaterGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
