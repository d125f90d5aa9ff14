import { logicalOrGoldens } from "../goldens/logicalOr.ts";
import { exact, type OpCases } from "../opCases.ts";
import { logicCases, logicMistakes } from "./shared/logic.ts";

export const logicalOr: OpCases<"logicalOr"> = {
  tolerance: { bool: exact },
  cases: [...logicalOrGoldens, ...logicCases],
  wrong: logicMistakes,
};
