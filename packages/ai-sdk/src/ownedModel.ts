import { type EngineModel, loadedModel } from "@centella/llm/engine";
import { isRecord, type Kind, kind } from "@centella/quant/checks";
import type { GenerationDefaults } from "./centellaOptions.ts";
import { type ModelHandle, requireAdapter } from "./modelHandle.ts";

/** What loads a model on request: a store of `@centella/llm/store`, or the result of `useModel` of `@centella/react`. */
export interface LoadableModel {
  /** The model, if it is loaded. */
  readonly model: EngineModel | undefined;
  /** The model, which the first call loads, and each call after a loss. */
  readonly load: () => Promise<EngineModel>;
}

/** The kind of models and stores for checks of arguments. */
export const modelOrStore: Kind = kind("a loaded model or a store", (value) => loadedModel.accepts(value) || isStore(value));

function isStore(value: unknown): value is LoadableModel {
  return isRecord(value) && typeof value.load === "function";
}

/** A model whose owner disposes of it. */
export function ownedModel(given: EngineModel | LoadableModel, defaults: GenerationDefaults): ModelHandle {
  return {
    get id() {
      return (isStore(given) ? given.model : given)?.info.name ?? "not loaded";
    },
    defaults,
    async open(adapter) {
      const model = isStore(given) ? await given.load() : given;
      requireAdapter(adapter, model.info.adapters ?? [], "load the model with it under this name");
      return model;
    },
  };
}
