import {
  CentellaError,
  type ConcreteSpec,
  DeviceLostError,
  DisposedError,
  KernelError,
  OutOfMemoryError,
  type TypedArray,
} from "@centella/core";
import { byteLength, type Counters, createCounters, elementAt, typedArrayOf } from "@centella/core/backend";
import { BufferPool, type Region, readbackUsage, tensorUsage } from "./buffers.ts";
import type { Capabilities } from "./capabilities.ts";
import type { OpenDevice } from "./device.ts";
import { blockStride, copyFromDevice, deviceBytes, roundUp } from "./layout.ts";
import { PipelineCache } from "./pipelines.ts";
import { PendingWork, SubmissionOrder } from "./submissions.ts";
import { leastMappedBytes, type MappedMemory, UploadRing } from "./uploads.ts";
import { mapRead } from "./usage.ts";

/** Milliseconds within which a browser reports a loss after the first call that failed because of it. */
const lossDelayMs = 20;

/** A tensor to be read back, and where it is stored. */
export interface Readback {
  readonly spec: ConcreteSpec;
  readonly from: Region;
}

/** An open device with everything that plans and tensors share: submission order, pools, counters and errors. */
export class DeviceQueue {
  readonly device: GPUDevice;
  readonly name: string;
  readonly counters: Counters;
  readonly order: SubmissionOrder = new SubmissionOrder();
  readonly pending: PendingWork = new PendingWork();
  readonly pipelines: PipelineCache;
  readonly tensors: BufferPool;
  /** What content passes through on its way to the device. */
  readonly uploads: UploadRing;
  readonly readbacks: BufferPool;
  readonly #open: OpenDevice;
  /** Ends everything: the device is lost or was disposed of. */
  #end: Error | undefined;
  /** An error that the device raised while no promise was pending. The next call on the device throws it. */
  #unreported: Error | undefined;

  /** @param counters those of the lost device, in whose place this one was opened */
  constructor(open: OpenDevice, counters: Counters = createCounters()) {
    this.counters = counters;
    const { device, info } = open;
    this.#open = open;
    this.device = device;
    this.name = `webgpu (${info.name})`;
    this.pipelines = new PipelineCache(device);
    const onRefusal = (bytes: number): void => this.#report(new OutOfMemoryError(this.name, bytes));
    this.tensors = new BufferPool(device, tensorUsage, onRefusal);
    this.uploads = new UploadRing(device, onRefusal);
    this.readbacks = new BufferPool(device, readbackUsage, onRefusal);
    void device.lost.then(({ message, reason }) => this.#finish(lossOf(this.name, message || reason)));
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#report(new KernelError("webgpu", "", event.error.message));
    });
  }

  /** What kernels may use of the device. */
  get capabilities(): Capabilities {
    return this.#open.capabilities;
  }

  /** @throws {DeviceLostError | DisposedError | KernelError} if the device is gone or raised an error since the last call */
  check(): void {
    if (this.#end !== undefined) throw this.#end;
    const error = this.#unreported;
    this.#unreported = undefined;
    if (error !== undefined) throw error;
  }

  submit(encoder: GPUCommandEncoder): void {
    this.device.queue.submit([encoder.finish()]);
    this.counters.submits++;
  }

  /** Copies `bytes` to a buffer of whole words. */
  upload(bytes: Uint8Array, to: Region): void {
    if (bytes.length >= leastMappedBytes) {
      const memory = this.uploads.acquire(bytes.length);
      memory.bytes.set(bytes);
      void this.write(memory, to);
    } else if (bytes.length > 0) {
      const words = new Uint8Array(roundUp(bytes.length, 4));
      words.set(bytes);
      this.device.queue.writeBuffer(to.buffer, to.offset, words);
    }
  }

  /** Copies mapped memory to a buffer, and takes it back. Resolves when the device has copied it. */
  write(memory: MappedMemory, to: Region): Promise<void> {
    const encoder = this.device.createCommandEncoder();
    this.uploads.copy(encoder, memory, to);
    this.device.queue.submit([encoder.finish()]);
    return this.uploads.release(memory.buffer);
  }

  /**
   * Records copies of tensors to one mapped buffer. Call the result after the submission: it maps that buffer and resolves
   * with the tensors as the device holds them, which is their stored form except for types that are recoded. Tensors go to
   * `targets`, or to new arrays where there are none.
   */
  readBack(
    encoder: GPUCommandEncoder,
    wanted: readonly Readback[],
    targets: readonly TypedArray[] = [],
  ): () => Promise<readonly TypedArray[]> {
    const sizes = wanted.map(({ spec }) => roundUp(deviceBytes(spec), 4));
    const offsets = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + roundUp(size, 8), 0));
    const total = (offsets.at(-1) ?? 0) + (sizes.at(-1) ?? 0);
    if (total === 0) return async () => wanted.map(({ spec }, i) => targets[i] ?? new (typedArrayOf(spec.dtype))(0));
    const staging = this.readbacks.acquire(total);
    wanted.forEach(({ from }, i) => {
      if (elementAt(sizes, i) > 0)
        encoder.copyBufferToBuffer(from.buffer, from.offset, staging, elementAt(offsets, i), elementAt(sizes, i));
    });
    return () => {
      this.counters.readbacks++;
      const mapped = staging.mapAsync(mapRead, 0, roundUp(total, 4)).then(() => {
        const bytes = staging.getMappedRange(0, roundUp(total, 4));
        const arrays = wanted.map(({ spec }, i) => arrayOf(spec, bytes, elementAt(offsets, i), targets[i]));
        staging.unmap();
        this.readbacks.release(staging);
        return arrays;
      });
      return this.guard(mapped);
    };
  }

  /** Reads one tensor back as the device holds it, after all work that was submitted before: to `target`, or to a new array. */
  async readTensor(wanted: Readback, target?: TypedArray): Promise<TypedArray> {
    this.check();
    const encoder = this.device.createCommandEncoder();
    const finish = this.readBack(encoder, [wanted], target && [target]);
    if (deviceBytes(wanted.spec) > 0) this.submit(encoder);
    const [data] = await finish();
    if (data === undefined) throw new RangeError("expected one tensor to be read back, got none");
    return data;
  }

  /** A promise of the device, rejected with a typed error where the device fails. */
  async guard<T>(promise: Promise<T>): Promise<T> {
    try {
      return await this.pending.watch(promise);
    } catch (error) {
      if (!(error instanceof CentellaError)) await this.checkLoss();
      throw this.#end ?? error;
    }
  }

  /** Resolves to whether the device is lost. Browsers may reject what is pending some tasks before they say so. */
  async checkLoss(): Promise<boolean> {
    if (this.#end === undefined) await Promise.race([this.device.lost, new Promise((resolve) => setTimeout(resolve, lossDelayMs))]);
    return this.#end instanceof DeviceLostError;
  }

  /** Resolves when all submitted work is done. */
  async done(): Promise<void> {
    this.check();
    await this.guard(this.device.queue.onSubmittedWorkDone().then(() => undefined));
    this.check();
  }

  async idle(): Promise<void> {
    await this.order.idle();
    await this.done();
  }

  /** Gives the device back; in Node the process can exit then. */
  dispose(): void {
    this.#finish(new DisposedError(this.name));
    this.#open.device.destroy();
  }

  #finish(end: Error): void {
    this.#end ??= end;
    this.pending.reject(this.#end);
  }

  #report(error: Error): void {
    if (this.pending.size > 0) this.pending.reject(error);
    else this.#unreported = error;
  }
}

/** Copies a tensor from mapped memory to `target`, or to a new array. */
function arrayOf(spec: ConcreteSpec, mapped: ArrayBuffer, offset: number, target: TypedArray | undefined): TypedArray {
  const held = deviceBytes(spec);
  const type = typedArrayOf(spec.dtype);
  // Types that are recoded are read as they are held.
  if (target === undefined && blockStride(spec.dtype) === undefined) return new type(mapped.slice(offset, offset + held));
  const array = target ?? new type(byteLength(spec));
  copyFromDevice(spec.dtype, new Uint8Array(mapped, offset, held), new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return array;
}

function lossOf(name: string, reason: string): DeviceLostError {
  return new DeviceLostError(name, reason, "await backend.recover(), or open the backend again and reload the model");
}
