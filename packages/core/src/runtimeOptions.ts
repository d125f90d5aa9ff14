import { checkKeys } from "@centella/quant/checks";
import type { BackendFactory } from "./backend.ts";
import { ArgumentError } from "./errors.ts";
import type { Policy } from "./select.ts";

export interface RuntimeOptions {
  /**
   * In order of preference. The scalar reference is always there, last. Where another backend computes within a call (`runtime.sync`), its
   * code is loaded by the first awaited call that comes to it, and it takes no part in `runtime.sync` before; list it here to load it at once.
   */
  readonly backends: readonly BackendFactory[];
  readonly policy?: RuntimePolicy;
}

export interface RuntimePolicy extends Policy {
  /**
   * A backend that fails while running raises its error; "retry" computes the call, or the chain of lazy tensors, on the next
   * one instead, and leaves a backend out for good whose device was lost.
   */
  readonly fallback?: "error" | "retry";
  /** Compiled calls and lazy chains that are kept (256); the least recently used goes first. */
  readonly maxPlans?: number;
  /** Bytes of tensors that kept plans may hold (256 MiB), by an upper bound for each. */
  readonly maxPlanBytes?: number;
  /** Let {@link RuntimeCore.report} count an awaited call until its result is there, which costs a wait per call. */
  readonly trace?: boolean;
}

const optionNames: readonly (keyof RuntimeOptions)[] = ["backends", "policy"];
const policyNames: readonly (keyof RuntimePolicy)[] = [
  "force",
  "allowSoftware",
  "thresholds",
  "fallback",
  "maxPlans",
  "maxPlanBytes",
  "trace",
];

/** @throws {ArgumentError} for an unknown option, or a value that is none */
export function checkedOptions(options: RuntimeOptions): RuntimeOptions {
  checkKeys("createRuntime", options, optionNames);
  const { backends, policy = {} } = options;
  if (!Array.isArray(backends) || !backends.every(isFactory)) {
    const got = Array.isArray(backends) ? `a list with ${typeof backends.find((one) => !isFactory(one))}` : typeof backends;
    throw new ArgumentError("createRuntime", "backends as a list of factories", got, "pass e.g. [wasm()]");
  }
  checkKeys("createRuntime.policy", policy, policyNames);
  return options;
}

/** `wasm` instead of `wasm()` is none. */
function isFactory(factory: unknown): factory is BackendFactory {
  return typeof factory === "object" && factory !== null && "open" in factory;
}

/** What `CENTELLA_BACKEND` forces. */
export function backendFromEnvironment(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.CENTELLA_BACKEND || undefined;
}
