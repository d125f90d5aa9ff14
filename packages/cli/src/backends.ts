import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, createRuntime, type Runtime, reference } from "@centella/core";
import { choice, type OptionSpec } from "./options.ts";

/** In order of preference; selection skips what is missing, too small for, or not made for the work. */
export const factories: readonly BackendFactory[] = [cuda(), webgpu(), wasm(), reference()];

export const backendNames: readonly string[] = factories.map(({ name }) => name);

export const backendOption: OptionSpec<string> = {
  ...choice(backendNames, `compute on this backend alone: ${backendNames.join(", ")}`),
  value: "NAME",
};

/** A runtime over every backend, or over one alone. @throws {ArgumentError} for an unknown name in the environment */
export async function openRuntime(backend: string | undefined): Promise<Runtime> {
  return createRuntime({ backends: factories, policy: backend === undefined ? {} : { force: backend } });
}

/** Op calls executed so far, by backend; backends without any are left out. */
export function opsByBackend(runtime: Runtime): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(runtime.counters)
      .map(([name, { ops }]) => [name, Object.values(ops).reduce((sum, count) => sum + count, 0)] as const)
      .filter(([, count]) => count > 0),
  );
}
