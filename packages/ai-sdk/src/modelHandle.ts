import type { EngineModel } from "@centella/llm/engine";
import type { GenerationDefaults } from "./centellaOptions.ts";

/** A model that is loaded when it is first needed. */
export interface ModelHandle {
  readonly id: string;
  /** Options of generations whose calls give none. */
  readonly defaults: GenerationDefaults;
  /** The model, which the first call loads. @throws the errors of loading it */
  open(): Promise<EngineModel>;
}
