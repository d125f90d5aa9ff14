import type { EmbedOptions } from "@centella/llm";
import { type EngineModel, loadedModel } from "@centella/llm/engine";
import { check, object } from "@centella/quant/checks";
import { Embeddings, type EmbeddingsParams } from "@langchain/core/embeddings";
import { retryIfBusy } from "./retries.ts";

/** Fields of {@link CentellaEmbeddings}: those of `model.embed` besides the model. */
export interface CentellaEmbeddingsFields extends EmbeddingsParams, Omit<EmbedOptions, "signal"> {
  /** A model that is loaded, in this thread or in a worker. */
  readonly model: EngineModel;
}

/** Embeddings of LangChain by a loaded model. */
export class CentellaEmbeddings extends Embeddings {
  readonly #model: EngineModel;
  readonly #options: EmbedOptions;

  /** @throws {ArgumentError} without a loaded model; calls check the options */
  constructor(fields: CentellaEmbeddingsFields) {
    check("CentellaEmbeddings", "fields", fields, object);
    const { model, pooling, normalize, dimensions, ...params } = fields;
    check("CentellaEmbeddings", "model", model, loadedModel, "load it with loadModel");
    super({ onFailedAttempt: retryIfBusy, ...params });
    this.#model = model;
    this.#options = { pooling, normalize, dimensions };
  }

  override async embedDocuments(texts: string[]): Promise<number[][]> {
    const vectors = await this.caller.call(() => this.#model.embed(texts, this.#options));
    return vectors.map((vector) => [...vector]);
  }

  override async embedQuery(text: string): Promise<number[]> {
    const [vector] = await this.embedDocuments([text]);
    return vector!;
  }
}
