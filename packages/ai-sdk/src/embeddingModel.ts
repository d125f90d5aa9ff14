import type { EmbeddingModelV4, EmbeddingModelV4CallOptions, EmbeddingModelV4Result } from "@ai-sdk/provider";
import type { EmbedOptions } from "@centella/llm";
import { ArgumentError } from "@centella/quant";
import { checkKeys, isRecord } from "@centella/quant/checks";
import { withSdkErrors } from "./errors.ts";
import { provider } from "./language/languageModel.ts";
import type { ModelHandle } from "./modelHandle.ts";

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
      const own = embedOptions(providerOptions);
      const model = await this.#handle.open();
      const inputs = await Promise.all(values.map(async (value) => ({ ids: await model.tokenizer.encode(value) })));
      const vectors = await model.embed(inputs, { ...own, ...(dimensions !== undefined && { dimensions }), signal });
      return {
        embeddings: vectors.map((vector) => [...vector]),
        usage: { tokens: inputs.reduce((sum, { ids }) => sum + ids.length, 0) },
        warnings: [],
      };
    });
  }
}

/** `providerOptions.centella` of an embedding. */
function embedOptions(providerOptions: Readonly<Record<string, unknown>> | undefined): Pick<EmbedOptions, "pooling" | "normalize"> {
  const options = providerOptions?.centella ?? {};
  if (!isRecord(options)) throw new ArgumentError("providerOptions.centella", "an object of options", String(options));
  checkKeys("providerOptions.centella", options, ["pooling", "normalize"]);
  return options;
}
