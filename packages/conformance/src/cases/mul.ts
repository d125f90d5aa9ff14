import { mulGoldens } from "../goldens/mul.ts";
import { exact, type OpCases, rounding } from "../opCases.ts";
import { arithmeticCases, arithmeticMistakes } from "./shared/arithmetic.ts";

export const mul: OpCases<"mul"> = {
  tolerance: { f32: rounding, i32: exact },
  cases: [...mulGoldens, ...arithmeticCases],
  wrong: arithmeticMistakes("mul"),
};
