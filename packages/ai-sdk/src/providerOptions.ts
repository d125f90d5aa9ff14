import type { LoadModelOptions, loadModel } from "@centella/llm";
import type { ModelWorker } from "@centella/llm/worker";
import type { GenerationDefaults } from "./centellaOptions.ts";

/** Options of loading a model, here or in a worker. */
type LoadOptions = Omit<LoadModelOptions, "runtime">;

/** What `loadModel` takes. */
type LoadSource = Parameters<typeof loadModel>[0];

/** Where a model comes from: what `loadModel` takes, or that with options of loading. */
export type ModelSource = LoadSource | { readonly source: LoadSource; readonly load?: LoadOptions };

/** Options of {@link createCentella}: either a runtime or a worker computes. */
export type CentellaProviderOptions<Id extends string = string> = {
  /** Sources by the names that calls use. A model is loaded when it is first needed. */
  readonly models: Readonly<Record<Id, ModelSource>>;
  /** Options of generations whose calls give none, by the names of `session.generate`. */
  readonly defaults?: GenerationDefaults | undefined;
} & ({ readonly runtime: LoadModelOptions["runtime"] } | { readonly worker: ModelWorker });
