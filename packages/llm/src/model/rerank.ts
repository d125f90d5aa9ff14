import { ArgumentError } from "@centella/core";
import { check, checkValue, listOf, string } from "@centella/quant/checks";
import { ContextOverflowError, maxCountedTokens } from "../errors.ts";
import { checkIds } from "../tokenizer/tokenIds.ts";
import type { RankedDocument, Ranking, RerankOptions } from "./measureOptions.ts";
import type { ModelContext } from "./modelContext.ts";
import { pooledStates } from "./pooledStates.ts";
import { type PairPrompt, pairPrompt } from "./rankPrompt.ts";

const documentList = listOf("documents, each a string", string);

/** @throws {UnsupportedError | ModelError | ContextOverflowError | ArgumentError | TokenizerError | BusyError} */
export async function rerank(
  model: ModelContext,
  query: string,
  documents: readonly string[],
  { topN = documents.length, signal, ...options }: RerankOptions,
): Promise<Ranking> {
  check("rerank", "query", query, string);
  checkValue("rerank", documents, documentList);
  if (documents.length === 0) throw new ArgumentError("rerank", "at least one document", "none", "pass the texts to rank");
  const adapters = model.applied("rerank", options.adapters);
  const head = await model.rankHead;
  const prompt = pairPrompt(model.tokenizer, model.rankTemplate, query);
  const pairs: (readonly number[])[] = [];
  for (const [index, document] of documents.entries()) pairs.push(await idsOf(model, prompt, document, index, signal));
  const scores = await head.score(await pooledStates(model, pairs, { pooling: head.pooling, adapters, signal }));
  const ranked = scores.map((score, index): RankedDocument => ({ index, score })).sort((a, b) => b.score - a.score);
  return { results: ranked.slice(0, topN), usage: { promptTokens: pairs.reduce((sum, { length }) => sum + length, 0) } };
}

async function idsOf(
  { scheduler: { contextLength, vocabSize } }: ModelContext,
  prompt: PairPrompt,
  document: string,
  index: number,
  signal: AbortSignal | undefined,
): Promise<readonly number[]> {
  const ids = checkIds(await prompt(document, { maxTokens: maxCountedTokens(contextLength), signal }), vocabSize);
  if (ids.length <= contextLength) return ids;
  throw new ContextOverflowError(ids.length, contextLength, contextLength, 0, `documents[${index}] with the query`);
}
