import { topKIndicesGoldens } from "../goldens/topKIndices.ts";
import { exact, type OpCases } from "../opCases.ts";
import { topElementsCases, topElementsMistakes } from "./shared/topElements.ts";

export const topKIndices: OpCases<"topKIndices"> = {
  tolerance: { i32: exact },
  cases: [...topKIndicesGoldens, ...topElementsCases],
  wrong: topElementsMistakes("topKIndices"),
};
