import { availableParallelism } from "node:os";
import type { Runtime } from "@centella/core";
import { loadModel } from "@centella/llm";
import { openRuntime } from "../backends.ts";
import { type OptionSpec, repeated } from "../options.ts";
import { UsageError } from "../usageError.ts";
import type { Loading } from "./servedModels.ts";

/** The devices of a server, opened when the first model is loaded: they take longer than listening. */
export interface Devices {
  readonly load: Loading["load"];
  close(): Promise<void>;
}

/** Numbers of devices. Lists are joined. */
export const devicesOption: OptionSpec<readonly (readonly number[])[]> = repeated(
  "N,…",
  "numbers of CUDA devices, with an engine of each model on every one; on the CPU, an engine each",
  (given, option) => {
    const numbers = given.split(",");
    if (!numbers.every((each) => /^\d{1,3}$/.test(each))) throw new UsageError(`--${option}: expected numbers such as 0,1, got ${given}`);
    return numbers.map(Number);
  },
);

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
      await (await models?.catch(() => undefined))?.close();
    },
  };
}
