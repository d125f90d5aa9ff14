import { availableParallelism } from "node:os";
import type { Runtime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { openRuntime } from "../backends.ts";
import { UsageError } from "../usageError.ts";
import type { Loading } from "./servedModels.ts";

/** The devices of a server, opened when the first model is loaded: they take longer than listening. */
export interface Devices {
  readonly load: Loading["load"];
  close(): Promise<void>;
}

/** Options that choose the devices. */
export interface DeviceValues {
  readonly devices?: readonly (readonly number[])[];
  readonly backend?: string;
  readonly threads?: number;
}

/** One device in this thread, or several in a worker each. @throws {UsageError} for numbers that the backend does not have */
export function openDevices(values: DeviceValues): Devices {
  const numbers = values.devices?.flat();
  return numbers === undefined ? inThisThread(values) : inWorkers(numbers, values);
}

function inThisThread(values: DeviceValues): Devices {
  let runtime: Promise<Runtime> | undefined;
  return {
    async load(source, options, context) {
      runtime ??= openRuntime(values);
      return loadModel(source, { ...options, runtime: await runtime, cache: true, ...context });
    },
    async close() {
      await (await runtime?.catch(() => undefined))?.dispose();
    },
  };
}

function inWorkers(
  numbers: readonly number[],
  { backend, threads = Math.max(1, Math.floor(availableParallelism() / numbers.length)) }: DeviceValues,
): Devices {
  if (backend === "webgpu")
    throw new UsageError("--devices: expected cuda, or a backend on the CPU, got webgpu, which does not number its devices");
  if (new Set(numbers).size < numbers.length) throw new UsageError(`--devices: expected different devices, got ${numbers.join(",")}`);
  let models: Promise<import("./deviceModels.ts").DeviceModels> | undefined;
  return {
    async load(source, options, context) {
      models ??= import("./deviceModels.ts").then(
        ({ DeviceModels }) => new DeviceModels(numbers, { backend, threads: Math.min(threads, 8) }),
      );
      return (await models).load(source, options, context);
    },
    async close() {
      await (await models)?.close();
    },
  };
}
