import { entryOf, type HostResults } from "@centella/core/backend";
import type { DeviceStorage } from "../device/deviceTensor.ts";
import { copyBytes, deviceBytes } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { encodeDispatches, type ReadyDispatch, type TargetMemory, type VariantRun } from "./variant.ts";

/** Memory of the outputs that stay on the device, by name. */
export type Targets = ReadonlyMap<string, DeviceStorage>;

/** Dispatches by their submissions. */
export type Parts = readonly (readonly ReadyDispatch[])[];

/** Commands for the first part of a run, recorded before its call. */
export class RecordedRun {
  readonly run: VariantRun;
  readonly #queue: DeviceQueue;
  readonly #commands: GPUCommandBuffer;
  /** Where the commands copy the outputs to, if they are the whole run. */
  readonly #staging: GPUBuffer | undefined;
  readonly #others: Parts;

  /** @param parts all of the run; the first one needs no memory that is known only at the call */
  constructor(queue: DeviceQueue, run: VariantRun, [first = [], ...others]: Parts) {
    const encoder = queue.device.createCommandEncoder();
    encodePass(encoder, first);
    this.run = run;
    this.#queue = queue;
    this.#others = others;
    this.#staging = others.length === 0 ? queue.readbacks.record(encoder, run.readbacks) : undefined;
    this.#commands = encoder.finish();
  }

  /** Submits these commands and the rest of the run. Resolves with the outputs that go to the host. */
  submit(targets: Targets): Promise<HostResults> {
    const queue = this.#queue;
    queue.submitCommands(this.#commands);
    if (this.#others.length === 0) return queue.readBack(this.#staging, this.run.readbacks);
    return submitParts(queue, queue.device.createCommandEncoder(), this.run, this.#others, targets);
  }

  /** Ends the use of commands that are not submitted. */
  drop(): void {
    this.#queue.readbacks.drop(this.#staging);
  }
}

/**
 * Submits what `first` has recorded, the dispatches of a run and the copies of its outputs. Resolves with the outputs that go to the host.
 */
export function submitRun(queue: DeviceQueue, first: GPUCommandEncoder, run: VariantRun, targets: Targets): Promise<HostResults> {
  return submitParts(queue, first, run, partsOf(queue, run), targets);
}

function submitParts(queue: DeviceQueue, first: GPUCommandEncoder, run: VariantRun, parts: Parts, targets: Targets): Promise<HostResults> {
  const memoryOf = (storage: number): GPUBuffer => entryOf(targets, entryOf(run.direct, storage)).allocate();
  let encoder = first;
  for (const [i, part] of parts.entries()) {
    if (i > 0) {
      queue.submit(encoder);
      encoder = queue.device.createCommandEncoder();
    }
    encodePass(encoder, part, memoryOf);
  }
  copyDeviceOutputs(encoder, run, targets);
  const staging = queue.readbacks.record(encoder, run.readbacks);
  queue.submit(encoder);
  return queue.readBack(staging, run.readbacks);
}

/**
 * The dispatches of each submission. An idle device begins with the first ones while the host records the others. If results of earlier
 * work are pending, the device is at work, and more than one submission would only take the host's time.
 */
function partsOf(queue: DeviceQueue, { dispatches, parts }: VariantRun): Parts {
  return queue.pending.size === 0 ? parts : [dispatches];
}

function encodePass(encoder: GPUCommandEncoder, dispatches: readonly ReadyDispatch[], memoryOf?: TargetMemory): void {
  if (dispatches.length === 0) return;
  const pass = encoder.beginComputePass();
  encodeDispatches(pass, dispatches, memoryOf);
  pass.end();
}

/** Copies the outputs on the device that kernels did not write in place. */
function copyDeviceOutputs(encoder: GPUCommandEncoder, { outputs, direct }: VariantRun, targets: Targets): void {
  if (targets.size === 0) return;
  for (const { name, storage, spec, from } of outputs) {
    const target = targets.get(name);
    if (target === undefined || direct.has(storage)) continue;
    const bytes = copyBytes(deviceBytes(spec));
    const buffer = target.allocate();
    if (bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, buffer, 0, bytes);
  }
}
