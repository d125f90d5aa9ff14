import type { AdapterOptions, LoadModelOptions } from "@centella/llm";
import type { EngineModel, LoadSource } from "@centella/llm/engine";
import type { ModelWorker } from "@centella/llm/worker";
import type { GenerationDefaults } from "./centellaOptions.ts";

/** Options of loading a model, here or in a worker. */
type LoadOptions = Omit<LoadModelOptions, "runtime">;

/** A LoRA adapter with its scale. */
export type AdapterEntry = Omit<AdapterOptions, "name">;

/** Where a LoRA adapter comes from: its file, or that with its scale. */
export type AdapterSource = AdapterEntry["source"] | AdapterEntry;

/** A model with options of loading, and with adapters that calls choose from. */
export interface ModelEntry {
  readonly source: LoadSource;
  readonly load?: LoadOptions | undefined;
  /**
   * LoRA adapters by the names that calls choose them by: `providerOptions: { centella: { adapter } }`. They are loaded with
   * the model, whose weights all calls share.
   */
  readonly adapters?: Readonly<Record<string, AdapterSource>> | undefined;
}

/** Where a model comes from: what `loadModel` takes, or that with options of loading. */
export type ModelSource = LoadSource | ModelEntry;

/** Options of {@link createCentella}: either a runtime or a worker computes. */
export type CentellaProviderOptions<Id extends string = string> = {
  /** Sources by the names that calls use. A model is loaded when it is first needed. */
  readonly models: Readonly<Record<Id, ModelSource>>;
  /** Options of generations whose calls give none, by the names of `session.generate`. */
  readonly defaults?: GenerationDefaults | undefined;
} & ({ readonly runtime: LoadModelOptions["runtime"] } | { readonly worker: ModelWorker });

/** What a provider does with its models besides the calls of the AI SDK. */
export interface LoadedModels<Id extends string> extends AsyncDisposable {
  /** Loads a model, with its adapters, before its first call. @throws {NoSuchModelError | ArgumentError}, and the errors of `loadModel` */
  load(modelId: Id): Promise<EngineModel>;
  /** Frees a model that is loaded. The next call loads it again. */
  unload(modelId: Id): Promise<void>;
  /** Frees all models. */
  dispose(): Promise<void>;
}
