import { equalGoldens } from "../goldens/equal.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const equal: OpCases<"equal"> = {
  tolerance: { bool: exact },
  cases: [...equalGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
