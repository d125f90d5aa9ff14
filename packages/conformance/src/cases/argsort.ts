import { argsortGoldens } from "../goldens/argsort.ts";
import { exact, type OpCases } from "../opCases.ts";
import { orderingCases, orderingMistakes } from "./shared/ordering.ts";

export const argsort: OpCases<"argsort"> = {
  tolerance: { i32: exact },
  cases: [...argsortGoldens, ...orderingCases],
  wrong: orderingMistakes("argsort"),
};
