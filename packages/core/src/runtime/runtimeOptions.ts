import { boolean, check, checkOptions, type Kinds, listOf, object, oneOf, string, whole } from "@centella/quant/checks";
import type { BackendFactory } from "../backend/backend.ts";
import { backendFactory } from "../kinds.ts";
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

/** What `CENTELLA_BACKEND` forces. */
export function backendFromEnvironment(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.CENTELLA_BACKEND || undefined;
}
