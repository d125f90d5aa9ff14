import type { AdapterScales } from "@centella/llm";
import { abortable, type EngineModel } from "@centella/llm/engine";
import { ArgumentError } from "@centella/quant";
import type { AdapterChoice, GenerationDefaults } from "./centellaOptions.ts";

/** A model that is loaded when it is first needed. */
export interface ModelHandle {
  readonly id: string;
  /** Options of generations whose calls give none. */
  readonly defaults: GenerationDefaults;
  /**
   * The model, which the first call loads.
   * @throws {ArgumentError} for an unknown adapter, before anything is loaded if the model's adapters are known; the errors of loading
   */
  open(adapter?: string): Promise<EngineModel>;
}

/** How a call opens its model. */
export interface Opening extends AdapterChoice {
  readonly signal: AbortSignal | undefined;
}

/** Waits for the model of a call. An aborted call does not wait; the load goes on. @throws the signal's reason, and the errors of loading */
export async function openFor(handle: ModelHandle, { adapter, signal }: Opening): Promise<EngineModel> {
  signal?.throwIfAborted();
  return abortable(handle.open(adapter), signal);
}

/** @param names adapters of the model. @throws {ArgumentError} for another adapter */
export function requireAdapter(adapter: string | undefined, names: readonly string[], fix: string): void {
  if (adapter === undefined || names.includes(adapter)) return;
  const expected = names.length === 0 ? "no adapter" : `one of the adapters ${names.join(", ")}`;
  throw new ArgumentError("adapter", expected, String(adapter), fix);
}

/** The engine's option for a call's adapter. */
export function adapterOption(adapter: string | undefined): { readonly adapters?: AdapterScales } {
  return adapter === undefined ? {} : { adapters: { [adapter]: 1 } };
}
