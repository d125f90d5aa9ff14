import type { RankedDocument } from "@centella/llm";
import type { Call } from "../http/route.ts";
import { computed } from "./computation.ts";

/** Documents to rank by a query. */
export interface RankingRequest {
  readonly model: string | undefined;
  readonly query: string;
  readonly documents: readonly string[];
  /** Maximum number of results. Default: all documents. */
  readonly topN?: number | undefined;
  readonly priority?: number | undefined;
}

/** Documents by descending score. */
export interface RankedDocuments {
  /** Name of the model. */
  readonly name: string;
  readonly results: readonly RankedDocument[];
  /** Number of tokens of all pairs of the query and a document. */
  readonly tokens: number;
}

/** Ranks documents. @throws {ApiError} */
export function rankingOf(call: Call, { model: given, query, documents, topN, priority = 0 }: RankingRequest): Promise<RankedDocuments> {
  return computed(call, given, "rerank", async (reservation) => {
    const { lease, signal } = reservation;
    const { model, name, adapters } = lease;
    const lengthOf = async (text: string): Promise<number> => (await model.tokenizer.encodeAsync(text, { signal })).length;
    const [queryLength, ...lengths] = [await lengthOf(query), ...(await Promise.all(documents.map(lengthOf)))];
    await reservation.permit({ tokens: lengths.reduce((sum, length) => sum + queryLength + length, 0), priority });
    const { results, usage } = await model.rerank(query, documents, { topN, adapters, signal });
    return { name, results, tokens: usage.promptTokens };
  });
}
