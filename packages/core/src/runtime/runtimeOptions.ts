import { boolean, check, checkOptions, type Kinds, listOf, object, oneOf, string, whole } from "@centella/quant/checks";
import type { BackendFactory } from "../backend/backend.ts";
import { backendFactory } from "../kinds.ts";
import type { Policy } from "./select.ts";

export interface RuntimeOptions {
  /**
   * Backends in order of preference. The scalar reference is always added as the last one. If another backend supports `runtime.sync`, the
   * reference's code is loaded by the first awaited call that needs it, and `runtime.sync` does not use it before. List it here to load it at
   * once.
   */
  readonly backends: readonly BackendFactory[];
  readonly policy?: RuntimePolicy;
}

export interface RuntimePolicy extends Policy {
  /**
   * What happens when a backend fails while running. "error" raises its error. "retry" computes the call, or the chain of lazy
   * tensors, on the next backend, and stops using a backend whose device was lost.
   */
  readonly fallback?: "error" | "retry";
  /** Maximum number of compiled calls and lazy chains in the cache (256). */
  readonly maxPlans?: number;
  /** Maximum bytes of tensors that cached plans hold (256 MiB), by an upper bound for each plan. */
  readonly maxPlanBytes?: number;
  /** Makes {@link RuntimeCore.report} time awaited calls until their result is available, which costs a wait per call. */
  readonly trace?: boolean;
}

const optionKinds: Kinds<RuntimeOptions> = { backends: listOf("backend factories such as reference()", backendFactory), policy: object };
const runtimePolicyKinds: Kinds<RuntimePolicy> = {
  force: string,
  allowSoftware: boolean,
  thresholds: object,
  fallback: oneOf("error", "retry"),
  maxPlans: whole(0),
  maxPlanBytes: whole(0),
  trace: boolean,
};

/** @throws {ArgumentError} for an unknown option, or a value of the wrong kind */
export function checkedOptions(options: RuntimeOptions): RuntimeOptions {
  const { backends, policy = {} } = checkOptions("createRuntime", options, optionKinds);
  check("createRuntime", "backends", backends, optionKinds.backends);
  checkOptions("createRuntime.policy", policy, runtimePolicyKinds);
  return options;
}

/** The backend that the environment variable `CENTELLA_BACKEND` forces. */
export function backendFromEnvironment(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.CENTELLA_BACKEND || undefined;
}
