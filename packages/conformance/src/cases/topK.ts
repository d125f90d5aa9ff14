import { topKGoldens } from "../goldens/topK.ts";
import { exact, type OpCases } from "../opCases.ts";
import { topElementsCases, topElementsMistakes } from "./shared/topElements.ts";

export const topK: OpCases<"topK"> = {
  tolerance: { f32: exact },
  cases: [...topKGoldens, ...topElementsCases],
  wrong: topElementsMistakes("topK"),
};
