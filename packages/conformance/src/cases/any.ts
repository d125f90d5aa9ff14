import { anyGoldens } from "../goldens/any.ts";
import { exact, type OpCases } from "../opCases.ts";
import { truthCases, truthMistakes } from "./shared/truth.ts";

export const any: OpCases<"any"> = {
  tolerance: { bool: exact },
  cases: [...anyGoldens, ...truthCases(1)],
  wrong: truthMistakes("any"),
};
