import { allGoldens } from "../goldens/all.ts";
import { exact, type OpCases } from "../opCases.ts";
import { truthCases, truthMistakes } from "./shared/truth.ts";

export const all: OpCases<"all"> = {
  tolerance: { bool: exact },
  cases: [...allGoldens, ...truthCases(0)],
  wrong: truthMistakes("all"),
};
