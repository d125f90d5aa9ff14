import {
  type EmbeddingModelV4,
  type Experimental_DecisionModelV4,
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type RerankingModelV4,
} from "@ai-sdk/provider";
import { type EngineLoadOptions, type EngineModel, loadEngineModel, loadedModel } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import { check, checkOptions, isRecord, object } from "@centella/quant/checks";
import { checkDefaults, type GenerationDefaults } from "./centellaOptions.ts";
import { CentellaDecisionModel } from "./decisionModel.ts";
import { CentellaEmbeddingModel } from "./embeddingModel.ts";
import { CentellaLanguageModel, provider } from "./language/languageModel.ts";
import type { ModelHandle } from "./modelHandle.ts";
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
  const entries = Object.entries<ModelSource>(options.models);
  const handles = new Map(entries.map(([id, source]) => [id, new LoadedOnce(id, defaults, () => load(options, source))]));
  const handleOf = (modelId: string, modelType: "languageModel" | "embeddingModel" | "rerankingModel" = "languageModel"): LoadedOnce => {
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

/** A model that is loaded already as a language model of the AI SDK. Its owner disposes of it. @throws {ArgumentError} */
export function centellaModel(model: EngineModel, defaults: GenerationDefaults = {}): LanguageModelV4 {
  check("centellaModel", "model", model, loadedModel, "load it with loadModel");
  return new CentellaLanguageModel({ id: model.info.name, defaults: checkDefaults("centellaModel", defaults), open: async () => model });
}

/** A model of a provider: loaded by the first call, which later ones wait for. */
class LoadedOnce implements ModelHandle {
  readonly id: string;
  readonly defaults: GenerationDefaults;
  readonly #load: () => Promise<EngineModel>;
  #model: Promise<EngineModel> | undefined;

  constructor(id: string, defaults: GenerationDefaults, load: () => Promise<EngineModel>) {
    this.id = id;
    this.defaults = defaults;
    this.#load = load;
  }

  open(): Promise<EngineModel> {
    if (this.#model === undefined) {
      const loading = this.#load();
      this.#model = loading;
      // A failed load is tried again by the next call.
      loading.catch(() => {
        if (this.#model === loading) this.#model = undefined;
      });
    }
    return this.#model;
  }

  async unload(): Promise<void> {
    const loading = this.#model;
    this.#model = undefined;
    const model = await loading?.catch(() => undefined);
    await model?.dispose();
  }
}

async function load(options: CentellaProviderOptions, given: ModelSource): Promise<EngineModel> {
  const { source, load = {} } = isEntry(given) ? given : { source: given };
  const engine = "worker" in options ? { worker: options.worker } : { runtime: options.runtime };
  // A worker refuses what it cannot have.
  return loadEngineModel(source, { ...load, ...engine } as EngineLoadOptions);
}

function isEntry(source: ModelSource): source is Extract<ModelSource, { readonly source: unknown }> {
  return isRecord(source) && "source" in source && !("read" in source);
}
