import { notEqualGoldens } from "../goldens/notEqual.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const notEqual: OpCases<"notEqual"> = {
  tolerance: { bool: exact },
  cases: [...notEqualGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
