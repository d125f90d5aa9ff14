import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, createRuntime, type Runtime, reference } from "@centella/core";
import { choice, number, type OptionSpec } from "./options.ts";

/** In order of preference. The selection skips backends that are missing, lack a kernel, or are slower for the work. */
export const factories: readonly BackendFactory[] = factoriesWith({});

/** Where and how a runtime computes. */
export interface RuntimeOptions {
  /** Name of the only backend. Default: every backend. */
  readonly backend?: string | undefined;
  readonly threads?: number | undefined;
  /** Number of the CUDA device. Backends whose devices have no numbers are then left out, except for the CPU. Default: any device. */
  readonly device?: number | undefined;
}

function factoriesWith({ threads, device }: RuntimeOptions): readonly BackendFactory[] {
  const cpu = [wasm({ sync: false, ...(threads !== undefined && { threads }) }), reference()];
  return device === undefined ? [cuda(), webgpu(), ...cpu] : [cuda({ device }), ...cpu];
}

const backendNames: readonly string[] = factories.map(({ name }) => name);

export const backendOption: OptionSpec<string> = {
  ...choice(backendNames, `compute on this backend alone: ${backendNames.join(", ")}`),
  value: "NAME",
};

export const threadsOption: OptionSpec<number> = number("N", "threads on the CPU (default: its cores, at most 8)", {
  min: 1,
  max: 64,
  integer: true,
  short: "t",
});

/** A runtime over every backend, or over one alone. @throws {ArgumentError} for an unknown name in the environment */
export async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { backend } = options;
  return createRuntime({ backends: factoriesWith(options), policy: backend === undefined ? {} : { force: backend } });
}

/** Op calls executed so far, by backend; backends without any are left out. */
export function opsByBackend(runtime: Runtime): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(runtime.counters)
      .map(([name, { ops }]) => [name, Object.values(ops).reduce((sum, count) => sum + count, 0)] as const)
      .filter(([, count]) => count > 0),
  );
}
