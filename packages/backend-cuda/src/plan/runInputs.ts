import { type ConcreteSpec, Tensor, type TypedArray } from "@centella/core";
import type { Binding } from "@centella/core/backend";
import { recodedTo } from "@centella/gpu-kernels";
import type { Device } from "../device/device.ts";
import { type DeviceStorage, onDevice, storageOn } from "../device/deviceTensor.ts";
import { copyOf } from "../device/hostArrays.ts";
import type { StagedRun } from "./variantRunner.ts";

/** Inputs of a run: on the host in resident form, or to be fetched; and on the device. */
export interface RunInputs {
  readonly host: ReadonlyMap<string, TypedArray | Promise<TypedArray>>;
  readonly device: ReadonlyMap<string, DeviceStorage>;
}

/** Runs `work` when its turn comes, with the values that inputs have at the call. */
export function enqueueRun<T>(
  device: Device,
  bound: Binding["inputs"],
  signal: AbortSignal | undefined,
  work: (host: StagedRun["host"], tensors: RunInputs["device"]) => Promise<T>,
): Promise<T> {
  const inputs = inputsOf(device, bound);
  // A failed input reaches the caller once the work's turn comes.
  for (const data of inputs.host.values()) if (data instanceof Promise) data.catch(() => undefined);
  for (const storage of inputs.device.values()) storage.retain();
  return device.queue.enqueue(async () => {
    try {
      const host = new Map<string, { data: TypedArray }>();
      for (const [name, data] of inputs.host) host.set(name, { data: await data });
      for (const storage of inputs.device.values()) await storage.queued;
      signal?.throwIfAborted();
      return await work(host, inputs.device);
    } finally {
      for (const storage of inputs.device.values()) storage.release();
    }
  });
}

function inputsOf(runsOn: Device, bound: Binding["inputs"]): RunInputs {
  const host = new Map<string, TypedArray | Promise<TypedArray>>();
  const device = new Map<string, DeviceStorage>();
  for (const [name, { spec, data }] of bound) {
    const storage = data instanceof Tensor ? storageOn(runsOn, data) : undefined;
    if (storage !== undefined) device.set(name, storage);
    else host.set(name, data instanceof Tensor ? contentOf(spec, data) : copied(spec, data));
  }
  return { host, device };
}

/** The form on this device of a tensor of another one. The content of host tensors does not change, so it is not copied. */
function contentOf(spec: ConcreteSpec, { device, storage }: Tensor): TypedArray | Promise<TypedArray> {
  const content = device === "host" ? storage.peek?.() : undefined;
  return content === undefined ? storage.read().then((stored) => onDevice(spec, stored)) : onDevice(spec, content);
}

/** An input's resident form as a copy of its own: the caller may change the array before the run starts. */
function copied(spec: ConcreteSpec, data: TypedArray): TypedArray {
  return recodedTo(spec.dtype) === undefined ? copyOf(data) : onDevice(spec, data);
}
