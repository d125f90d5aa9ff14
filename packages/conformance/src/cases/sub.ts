import { subGoldens } from "../goldens/sub.ts";
import { exact, type OpCases, rounding } from "../opCases.ts";
import { arithmeticCases, arithmeticMistakes } from "./shared/arithmetic.ts";

export const sub: OpCases<"sub"> = {
  tolerance: { f32: rounding, i32: exact },
  cases: [...subGoldens, ...arithmeticCases],
  wrong: arithmeticMistakes("sub"),
};
