import { wasm } from "@centella/backend-wasm";
import { createRuntime } from "@centella/core";
import { afterAll } from "vitest";
import { type CentellaProvider, createCentella } from "../src/index.ts";
import { type CentellaProviderV3, createCentella as createCentellaV3 } from "../src/v3.ts";
import { startWorker, tiny } from "./place.ts";

const models = { fable: { source: tiny, load: { contextLength: 1024, sequences: 2 } } };

/** Providers of both versions over a runtime and over a worker, for all tests of a file. */
export async function openProviders(): Promise<{
  readonly v4: readonly (readonly [name: string, provider: CentellaProvider<"fable">])[];
  readonly v3: readonly (readonly [name: string, provider: CentellaProviderV3<"fable">])[];
}> {
  const runtime = await createRuntime({ backends: [wasm({ threads: 1 })], policy: { force: "wasm" } });
  const worker = startWorker();
  const v4 = [["a runtime", createCentella({ runtime, models })] as const, ["a worker", createCentella({ worker, models })] as const];
  const v3 = [["a runtime", createCentellaV3({ runtime, models })] as const, ["a worker", createCentellaV3({ worker, models })] as const];
  afterAll(async () => {
    for (const [, provider] of [...v4, ...v3]) await provider.dispose();
    await runtime.dispose();
    await worker.terminate();
  });
  return { v4, v3 };
}
