import {
  type EmbeddingModelV4,
  type Experimental_DecisionModelV4,
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type RerankingModelV4,
} from "@ai-sdk/provider";
import type { EngineModel } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import { check, checkOptions, object } from "@centella/quant/checks";
import { checkDefaults, type GenerationDefaults } from "./centellaOptions.ts";
import { CentellaDecisionModel } from "./decisionModel.ts";
import { CentellaEmbeddingModel } from "./embeddingModel.ts";
import { CentellaLanguageModel, provider } from "./language/languageModel.ts";
import { type LoadableModel, modelOrStore, ownedModel } from "./ownedModel.ts";
import { ProvidedModel } from "./providedModel.ts";
import type { CentellaProviderOptions, LoadedModels, ModelSource } from "./providerOptions.ts";
import { CentellaRerankingModel } from "./rerankingModel.ts";

/** Models as a provider of the AI SDK. A call is short for `languageModel`. */
export interface CentellaProvider<Id extends string = string> extends ProviderV4, LoadedModels<Id> {
  (modelId: Id): LanguageModelV4;
  languageModel(modelId: Id): LanguageModelV4;
  embeddingModel(modelId: Id): EmbeddingModelV4;
  rerankingModel(modelId: Id): RerankingModelV4;
  /** Decides between the options of questions, with probabilities. Experimental, as the AI SDK's interface is. */
  decisionModel(modelId: Id): Experimental_DecisionModelV4;
  /** @throws {NoSuchModelError} always: models write text */
  imageModel(modelId: string): ImageModelV4;
}

const optionKinds = { models: object, defaults: object, runtime: object, worker: object };

/**
 * A provider of the AI SDK whose models run in this process or page, by a runtime or in a worker.
 * @throws {ArgumentError} for an unknown option, and without exactly one of `runtime` and `worker`
 */
export function createCentella<const Id extends string>(options: CentellaProviderOptions<Id>): CentellaProvider<Id> {
  checkOptions("createCentella", options as Required<CentellaProviderOptions<Id>> & { runtime: unknown; worker: unknown }, optionKinds);
  if ("runtime" in options === "worker" in options) {
    throw new ArgumentError(
      "createCentella",
      "either a runtime or a worker",
      "runtime" in options ? "both" : "neither",
      "pass one of them",
    );
  }
  check("createCentella", "models", options.models, object, "name at least one model");
  const defaults = checkDefaults("createCentella.defaults", options.defaults);
  const engine = "worker" in options ? { worker: options.worker } : { runtime: options.runtime };
  const entries = Object.entries<ModelSource>(options.models);
  const handles = new Map(entries.map(([id, source]) => [id, new ProvidedModel(id, source, { defaults, engine })]));
  const handleOf = (modelId: string, modelType: "languageModel" | "embeddingModel" | "rerankingModel" = "languageModel"): ProvidedModel => {
    const handle = handles.get(modelId);
    if (handle !== undefined) return handle;
    const message = `${modelType}: expected one of the models ${[...handles.keys()].join(", ")}, got ${modelId}; name it in the option models`;
    throw new NoSuchModelError({ modelId, modelType, message });
  };
  const dispose = async (): Promise<void> => {
    await Promise.all([...handles.values()].map((handle) => handle.unload()));
  };
  const languageModel = (modelId: string): LanguageModelV4 => new CentellaLanguageModel(handleOf(modelId));
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: "v4" as const,
    languageModel,
    embeddingModel: (modelId: string) => new CentellaEmbeddingModel(handleOf(modelId, "embeddingModel")),
    rerankingModel: (modelId: string) => new CentellaRerankingModel(handleOf(modelId, "rerankingModel")),
    decisionModel: (modelId: string) => new CentellaDecisionModel(handleOf(modelId)),
    imageModel(modelId: string): never {
      throw new NoSuchModelError({
        modelId,
        modelType: "imageModel",
        message: `imageModel: models of ${provider} write text, got ${modelId}`,
      });
    },
    load: async (modelId: string) => handleOf(modelId).open(),
    unload: async (modelId: string) => handleOf(modelId).unload(),
    dispose,
    [Symbol.asyncDispose]: dispose,
  });
}

/**
 * A model that is loaded already, or a store that loads it on the first call, as a language model of the AI SDK. Its owner disposes of it.
 * @throws {ArgumentError}
 */
export function centellaModel(model: EngineModel | LoadableModel, defaults: GenerationDefaults = {}): LanguageModelV4 {
  check("centellaModel", "model", model, modelOrStore, "load it with loadModel, or pass a store");
  return new CentellaLanguageModel(ownedModel(model, checkDefaults("centellaModel", defaults)));
}
