import type { EmbeddingModelV3, ImageModelV3, LanguageModelV3, ProviderV3, RerankingModelV3 } from "@ai-sdk/provider";
import type { EngineModel } from "@centella/llm/engine";
import type { GenerationDefaults } from "./centellaOptions.ts";
import type { LoadableModel } from "./ownedModel.ts";
import { centellaModel as centellaModelV4, createCentella as createCentellaV4 } from "./provider.ts";
import type { CentellaProviderOptions, LoadedModels } from "./providerOptions.ts";

export type { EngineModel } from "@centella/llm/engine";
export type { CentellaOptions, GenerationDefaults } from "./centellaOptions.ts";
export type { LoadableModel } from "./ownedModel.ts";
export type { AdapterSource, CentellaProviderOptions, LoadedModels, ModelEntry, ModelSource } from "./providerOptions.ts";

/** Models as a provider of version 3 of the specification, for the AI SDK 6. A call is short for `languageModel`. */
export interface CentellaProviderV3<Id extends string = string> extends ProviderV3, LoadedModels<Id> {
  (modelId: Id): LanguageModelV3;
  languageModel(modelId: Id): LanguageModelV3;
  embeddingModel(modelId: Id): EmbeddingModelV3;
  rerankingModel(modelId: Id): RerankingModelV3;
  /** @throws {NoSuchModelError} always: models write text */
  imageModel(modelId: string): ImageModelV3;
}

/**
 * A provider of the AI SDK 6 whose models run in this process or page, by a runtime or in a worker.
 * @throws {ArgumentError} for an unknown option, and without exactly one of `runtime` and `worker`
 */
export function createCentella<const Id extends string>(options: CentellaProviderOptions<Id>): CentellaProviderV3<Id> {
  const { embeddingModel, rerankingModel, imageModel, languageModel, load, unload, dispose } = createCentellaV4(options);
  const ownLanguageModel = (modelId: Id): LanguageModelV3 => asV3(languageModel(modelId));
  return Object.assign((modelId: Id) => ownLanguageModel(modelId), {
    specificationVersion: "v3" as const,
    languageModel: ownLanguageModel,
    embeddingModel: (modelId: Id): EmbeddingModelV3 => asV3(embeddingModel(modelId)),
    rerankingModel: (modelId: Id): RerankingModelV3 => asV3(rerankingModel(modelId)),
    imageModel: (modelId: string): ImageModelV3 => asV3(imageModel(modelId)),
    load,
    unload,
    dispose,
    [Symbol.asyncDispose]: dispose,
  });
}

/** A model that is loaded already, or a store that loads it on the first call, as a language model of the AI SDK 6. Its owner disposes of it. */
export function centellaModel(model: EngineModel | LoadableModel, defaults?: GenerationDefaults): LanguageModelV3 {
  return asV3(centellaModelV4(model, defaults));
}

/**
 * A model of version 4 as one of version 3. Both versions have the same calls, and what these models return is the same in both. Prompts of
 * version 3 differ in files, which are refused.
 */
function asV3<V3>(model: object): V3 {
  return new Proxy(model, {
    get(target, key) {
      if (key === "specificationVersion") return "v3";
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  }) as V3;
}
