import * as z from "zod/mini";
import { rankingOf } from "../generation/ranking.ts";
import type { FieldTable } from "../http/fields.ts";
import { json, type Route, route } from "../http/route.ts";
import { openaiForm } from "../openai/form.ts";

const document = z.union([z.string(), z.strictObject({ text: z.string() })]);

const used = {
  model: z.optional(z.string()),
  query: z.string().check(z.minLength(1)),
  documents: z.array(document).check(z.minLength(1), z.maxLength(2048)),
  /** Maximum number of results. */
  top_n: z.optional(z.int().check(z.minimum(1))),
  /** Whether results have the texts of the documents. */
  return_documents: z.optional(z.boolean()),
  priority: z.optional(z.number()),
};

const fields: FieldTable<typeof used> = {
  used,
  ignored: { user: z.optional(z.string()) },
  refused: { max_tokens_per_doc: "documents are never cut", rank_fields: "documents are texts" },
};

export const rerank: Route = route({
  api: openaiForm,
  method: "POST",
  paths: ["/rerank", "/v1/rerank", "/reranking", "/v1/reranking"],
  summary: "Ranks documents by a query, in the form of Jina and Cohere.",
  fields,
  async handle(call, { model, query, documents, top_n: topN, return_documents: returnsDocuments = false, priority }) {
    const texts = documents.map((each) => (typeof each === "string" ? each : each.text));
    const { name, results, tokens } = await rankingOf(call, { model, query, documents: texts, topN, priority });
    return json({
      model: name,
      object: "list",
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      results: results.map(({ index, score }) => ({
        index,
        relevance_score: score,
        ...(returnsDocuments && { document: { text: texts[index] } }),
      })),
    });
  },
});
