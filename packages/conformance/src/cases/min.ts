import { minGoldens } from "../goldens/min.ts";
import { exact, f32, type OpCases } from "../opCases.ts";
import { reductionCases, reductionMistakes } from "./shared/reduction.ts";

export const min: OpCases<"min"> = {
  tolerance: { f32: exact },
  cases: [
    ...minGoldens,
    ...reductionCases,
    { name: "a long row", inputs: [f32(20011)] },
    { name: "long rows", inputs: [f32(3, 20011)], params: { axis: 1 } },
    { name: "long rows with elements between", inputs: [f32(20011, 2)], params: { axis: 0 } },
  ],
  wrong: [
    ...reductionMistakes("min"),
    { name: "empty axis", inputs: [f32(3, 0)], params: { axis: 1 }, error: "ShapeError", message: /at least one element to reduce/ },
    { name: "nothing at all", inputs: [f32(0, 3)], error: "ShapeError", message: /at least one element to reduce/ },
  ],
};
