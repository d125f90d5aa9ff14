import { maxPool2dGoldens } from "../goldens/maxPool2d.ts";
import { exact, type OpCases } from "../opCases.ts";
import { pool2dCases, pool2dMistakes } from "./shared/pool2d.ts";

export const maxPool2d: OpCases<"maxPool2d"> = {
  tolerance: { f32: exact },
  cases: [...maxPool2dGoldens, ...pool2dCases],
  wrong: pool2dMistakes,
};
