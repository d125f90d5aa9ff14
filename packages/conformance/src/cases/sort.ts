import { sortGoldens } from "../goldens/sort.ts";
import { exact, type OpCases } from "../opCases.ts";
import { orderingCases, orderingMistakes } from "./shared/ordering.ts";

export const sort: OpCases<"sort"> = {
  tolerance: { f32: exact },
  cases: [...sortGoldens, ...orderingCases],
  wrong: orderingMistakes("sort"),
};
