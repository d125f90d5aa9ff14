import { greaterEqualGoldens } from "../goldens/greaterEqual.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const greaterEqual: OpCases<"greaterEqual"> = {
  tolerance: { bool: exact },
  cases: [...greaterEqualGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
