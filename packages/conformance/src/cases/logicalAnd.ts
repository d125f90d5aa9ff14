import { logicalAndGoldens } from "../goldens/logicalAnd.ts";
import { exact, type OpCases } from "../opCases.ts";
import { logicCases, logicMistakes } from "./shared/logic.ts";

export const logicalAnd: OpCases<"logicalAnd"> = {
  tolerance: { bool: exact },
  cases: [...logicalAndGoldens, ...logicCases],
  wrong: logicMistakes,
};
