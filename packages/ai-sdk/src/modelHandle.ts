import { abortable, type EngineModel } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import type { AdapterChoice, GenerationDefaults } from "./centellaOptions.ts";

/** A model that is loaded when it is first needed. */
export interface ModelHandle {
  readonly id: string;
  /** Options of generations whose calls give none. */
  readonly defaults: GenerationDefaults;
  /**
   * The model, plain or with one of its adapters, which the first call loads.
   * @throws {ArgumentError} for an unknown adapter, and the errors of loading it
   */
  open(adapter?: string): Promise<EngineModel>;
}

/** What a call wants to know of its model. */
interface Opening extends AdapterChoice {
  readonly signal: AbortSignal | undefined;
}

/** Waits for the model of a call. An aborted call does not wait; the load goes on. @throws the signal's reason, and the errors of loading */
export async function openFor(handle: ModelHandle, { adapter, signal }: Opening): Promise<EngineModel> {
  signal?.throwIfAborted();
  return abortable(handle.open(adapter), signal);
}

/** @param names adapters of the model */
export function unknownAdapter(adapter: unknown, names: readonly string[], fix: string): ArgumentError {
  const expected = names.length === 0 ? "no adapter" : `one of the adapters ${names.join(", ")}`;
  return new ArgumentError("adapter", expected, String(adapter), fix);
}
