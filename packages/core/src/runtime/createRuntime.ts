import type { Backend } from "../backend/backend.ts";
import { ArgumentError } from "../errors.ts";
import { opMethods } from "../program/program.ts";
import { ReferenceBackend } from "../reference/reference.ts";
import type { Tensor } from "../tensor.ts";
import { Engine } from "./engine.ts";
import { type Runtime, RuntimeCore } from "./runtime.ts";
import { backendFromEnvironment, checkedOptions, type RuntimeOptions } from "./runtimeOptions.ts";
import { answersWithinCall, type Candidate, openCandidates } from "./select.ts";

/**
 * Opens the backends that this machine has. `CENTELLA_BACKEND` in the environment forces one, as `policy.force` does.
 * @throws {ArgumentError} for an unknown option, if the forced backend is not among `backends`, or for malformed thresholds
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { backends, policy = {} } = checkedOptions(options);
  const force = policy.force ?? backendFromEnvironment();
  const isGiven = backends.some(({ name }) => name === "reference");
  const names = [...backends.map(({ name }) => name), ...(isGiven ? [] : ["reference"])];
  if (force !== undefined && !names.includes(force)) {
    throw new ArgumentError("backend", `one of ${names.join(", ")}`, force, "check the name, and that its package is installed");
  }
  if (policy.thresholds !== undefined) (await import("./checkThresholds.ts")).checkThresholds(policy.thresholds);
  const isWanted = (name: string): boolean => force === undefined || name === force;
  const candidates = [...(await openCandidates(backends.filter(({ name }) => isWanted(name))))];
  if (!isGiven && isWanted("reference")) candidates.push({ name: "reference", backend: await lastResort(candidates) });
  const engine = new Engine(candidates, force === undefined ? policy : { ...policy, force });
  const methods = opMethods<Tensor, Promise<Tensor>>((op, inputs, params) => engine.call(op, inputs, params));
  // What console.log prints in Node, instead of all op methods.
  const inspect = { value: () => `Runtime { backends: ${engine.backends.map(({ name }) => name).join(", ")} }` };
  return Object.defineProperty(Object.assign(new RuntimeCore(engine), methods), Symbol.for("nodejs.util.inspect.custom"), inspect);
}

/**
 * The scalar reference, where the caller did not list it. If another backend computes within the call, the reference's code is loaded by
 * the first awaited call that needs it, so that most pages never download it.
 */
async function lastResort(others: readonly Candidate[]): Promise<Backend> {
  const backend = new ReferenceBackend(true);
  if (!others.some((other) => other.backend !== undefined && answersWithinCall(other.backend))) await backend.ready();
  return backend;
}
