import type { Model } from "@centella/llm";
import type { WorkerModel } from "@centella/llm/worker";
import { isRecord, type Kind, kind } from "@centella/quant/checks";
import type { GenerationDefaults } from "./centellaOptions.ts";

/** A loaded model, in this thread or in a worker. */
export type EngineModel = Model | WorkerModel;

/** The kind of {@link EngineModel} for checks of arguments. */
export const loadedModel: Kind = kind("a loaded model", (value) => isRecord(value) && typeof value.createSession === "function");

/** A model that is loaded when it is first needed. */
export interface ModelHandle {
  readonly id: string;
  /** Options of generations whose calls give none. */
  readonly defaults: GenerationDefaults;
  /** The model, which the first call loads. @throws the errors of loading it */
  open(): Promise<EngineModel>;
}
