import { addGoldens } from "../goldens/add.ts";
import { exact, type OpCases, rounding } from "../opCases.ts";
import { arithmeticCases, arithmeticMistakes } from "./shared/arithmetic.ts";

export const add: OpCases<"add"> = {
  tolerance: { f32: rounding, i32: exact },
  cases: [...addGoldens, ...arithmeticCases],
  wrong: arithmeticMistakes("add"),
};
