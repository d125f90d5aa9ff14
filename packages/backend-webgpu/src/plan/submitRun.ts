import { entryOf, type HostResults } from "@centella/core/backend";
import type { DeviceStorage } from "../device/deviceTensor.ts";
import { deviceBytes, roundUp } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { encodeDispatches, type ReadyDispatch, type TargetMemory, type VariantRun } from "./variant.ts";

/** Memory of the outputs that stay on the device, by name. */
export type Targets = ReadonlyMap<string, DeviceStorage>;

/**
 * Submits what `first` has recorded, the dispatches of a run and the copies of its outputs. Call the result to read those that go to the
 * host.
 */
export function submitRun(queue: DeviceQueue, first: GPUCommandEncoder, run: VariantRun, targets: Targets): () => Promise<HostResults> {
  const memoryOf = (storage: number): GPUBuffer => entryOf(targets, entryOf(run.direct, storage)).allocate();
  let encoder = first;
  for (const [i, part] of partsOf(queue, run).entries()) {
    if (i > 0) {
      queue.submit(encoder);
      encoder = queue.device.createCommandEncoder();
    }
    encodePass(encoder, part, memoryOf);
  }
  copyDeviceOutputs(encoder, run, targets);
  const host = run.outputs.filter(({ to }) => to === "host");
  const read = queue.readBack(
    encoder,
    host.map(({ readback }) => readback),
  );
  queue.submit(encoder);
  return read;
}

/**
 * The dispatches of each submission. An idle device begins with the first ones while the host records the others. If results of earlier
 * work are pending, the device is at work, and more than one submission would only take the host's time.
 */
function partsOf(queue: DeviceQueue, { dispatches, parts }: VariantRun): readonly (readonly ReadyDispatch[])[] {
  return queue.pending.size === 0 ? parts : [dispatches];
}

function encodePass(encoder: GPUCommandEncoder, dispatches: readonly ReadyDispatch[], memoryOf: TargetMemory): void {
  if (dispatches.length === 0) return;
  const pass = encoder.beginComputePass();
  encodeDispatches(pass, dispatches, memoryOf);
  pass.end();
}

/** Copies the outputs on the device that kernels did not write in place. */
function copyDeviceOutputs(encoder: GPUCommandEncoder, { outputs, direct }: VariantRun, targets: Targets): void {
  for (const { name, storage, readback } of outputs) {
    const target = targets.get(name);
    if (target === undefined || direct.has(storage)) continue;
    const bytes = roundUp(deviceBytes(readback.spec), 4);
    const buffer = target.allocate();
    if (bytes > 0) encoder.copyBufferToBuffer(readback.from.buffer, readback.from.offset, buffer, 0, bytes);
  }
}
