import type { RerankingModelV4, RerankingModelV4CallOptions, RerankingModelV4Result } from "@ai-sdk/provider";
import { ownOptions } from "./centellaOptions.ts";
import { withSdkErrors } from "./errors.ts";
import { provider } from "./language/languageModel.ts";
import { adapterOption, type ModelHandle, openFor } from "./modelHandle.ts";

/** A model that ranks documents by their relevance for a query. */
export class CentellaRerankingModel implements RerankingModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = provider;
  readonly modelId: string;
  readonly #handle: ModelHandle;

  constructor(handle: ModelHandle) {
    this.modelId = handle.id;
    this.#handle = handle;
  }

  /** Documents that are objects are ranked by their JSON. */
  async doRerank({
    documents,
    query,
    topN,
    abortSignal: signal,
    providerOptions,
  }: RerankingModelV4CallOptions): Promise<RerankingModelV4Result> {
    return withSdkErrors(async () => {
      const { adapter } = ownOptions(providerOptions, []);
      const texts = documents.type === "text" ? documents.values : documents.values.map((value) => JSON.stringify(value));
      const model = await openFor(this.#handle, { adapter, signal });
      const { results } = await model.rerank(query, texts, { ...adapterOption(adapter), topN, signal });
      return { ranking: results.map(({ index, score }) => ({ index, relevanceScore: score })) };
    });
  }
}
