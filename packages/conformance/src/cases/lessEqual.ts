import { lessEqualGoldens } from "../goldens/lessEqual.ts";
import { exact, type OpCases } from "../opCases.ts";
import { comparisonCases, comparisonMistakes } from "./shared/comparison.ts";

export const lessEqual: OpCases<"lessEqual"> = {
  tolerance: { bool: exact },
  cases: [...lessEqualGoldens, ...comparisonCases],
  wrong: comparisonMistakes,
};
