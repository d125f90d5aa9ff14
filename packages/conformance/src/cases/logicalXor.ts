import { logicalXorGoldens } from "../goldens/logicalXor.ts";
import { exact, type OpCases } from "../opCases.ts";
import { logicCases, logicMistakes } from "./shared/logic.ts";

export const logicalXor: OpCases<"logicalXor"> = {
  tolerance: { bool: exact },
  cases: [...logicalXorGoldens, ...logicCases],
  wrong: logicMistakes,
};
