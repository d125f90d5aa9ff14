import type { EmbeddingModelV4, EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from "@ai-sdk/provider";
import type { EmbedOptions } from "@centella/llm";
import { ownOptions } from "./centellaOptions.ts";
import { withSdkErrors } from "./errors.ts";
import { provider } from "./language/languageModel.ts";
import { adapterOption, type ModelHandle, openFor } from "./modelHandle.ts";

/** A model that embeds texts. */
export class CentellaEmbeddingModel implements EmbeddingModelV4 {
  readonly specificationVersion = "v4";
  readonly provider = provider;
  readonly modelId: string;
  /** The engine batches texts by itself. */
  readonly maxEmbeddingsPerCall: number = Number.POSITIVE_INFINITY;
  readonly supportsParallelCalls = true;
  readonly #handle: ModelHandle;

  constructor(handle: ModelHandle) {
    this.modelId = handle.id;
    this.#handle = handle;
  }

  async doEmbed({
    values,
    dimensions,
    abortSignal: signal,
    providerOptions,
  }: EmbeddingModelV4CallOptions): Promise<EmbeddingModelV4Result> {
    return withSdkErrors(async () => {
      const { adapter, ...own } = ownOptions<Pick<EmbedOptions, "pooling" | "normalize">>(providerOptions, ["pooling", "normalize"]);
      const model = await openFor(this.#handle, { adapter, signal });
      const inputs = await Promise.all(values.map(async (value) => ({ ids: await model.tokenizer.encode(value) })));
      const vectors = await model.embed(inputs, {
        ...own,
        ...adapterOption(adapter),
        ...(dimensions !== undefined && { dimensions }),
        signal,
      });
      return {
        embeddings: vectors.map((vector) => [...vector]),
        usage: { tokens: inputs.reduce((sum, { ids }) => sum + ids.length, 0) },
        warnings: [],
      };
    });
  }
}
