import { type ConcreteSpec, DeviceLostError, DisposedError, KernelError, OutOfMemoryError, type TypedArray } from "@centella/core";
import { type Counters, createCounters, elementAt, typedArrayOf } from "@centella/core/backend";
import { BufferPool, stagingUsage, tensorUsage } from "./buffers.ts";
import type { OpenDevice } from "./device.ts";
import { deviceBytes, roundUp } from "./layout.ts";
import { PipelineCache } from "./pipelines.ts";
import { PendingWork, SubmissionOrder } from "./submissions.ts";
import { mapRead } from "./usage.ts";

/** A piece of a GPU buffer. */
export interface Region {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

/** A tensor to be read back, and where it is stored. */
export interface Readback {
  readonly spec: ConcreteSpec;
  readonly from: Region;
}

/** An open device with everything that plans and tensors share: submission order, pools, counters and errors. */
export class DeviceQueue {
  readonly device: GPUDevice;
  readonly name: string;
  readonly counters: Counters = createCounters();
  readonly order: SubmissionOrder = new SubmissionOrder();
  readonly pending: PendingWork = new PendingWork();
  readonly pipelines: PipelineCache;
  readonly tensors: BufferPool;
  readonly staging: BufferPool;
  readonly #open: OpenDevice;
  /** Ends everything: the device is lost or was disposed of. */
  #end: Error | undefined;
  /** An error that the device raised while no promise was pending. The next call on the device throws it. */
  #unreported: Error | undefined;

  constructor(open: OpenDevice) {
    const { device, info } = open;
    this.#open = open;
    this.device = device;
    this.name = `webgpu (${info.name})`;
    this.pipelines = new PipelineCache(device);
    this.tensors = new BufferPool(device, tensorUsage, (bytes) => this.#report(new OutOfMemoryError(this.name, bytes)));
    this.staging = new BufferPool(device, stagingUsage, (bytes) => this.#report(new OutOfMemoryError(this.name, bytes)));
    void device.lost.then(({ message, reason }) => this.#finish(new DeviceLostError(this.name, message || reason)));
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#report(new KernelError("webgpu", "", event.error.message));
    });
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

  /** Host-to-device transfer of a run. */
  upload(buffer: GPUBuffer, data: ArrayBuffer | Uint8Array<ArrayBuffer>, bytes: number): void {
    this.device.queue.writeBuffer(buffer, 0, data, 0, bytes);
    this.counters.uploads++;
  }

  /**
   * Records copies of tensors to one staging buffer. Call the result after the submission: it maps that buffer and resolves
   * with the tensors as the device holds them, which is their stored form except for types that it holds as f32.
   */
  readBack(encoder: GPUCommandEncoder, wanted: readonly Readback[]): () => Promise<readonly TypedArray[]> {
    const sizes = wanted.map(({ spec }) => roundUp(deviceBytes(spec), 4));
    const offsets = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + roundUp(size, 8), 0));
    const total = (offsets.at(-1) ?? 0) + (sizes.at(-1) ?? 0);
    if (total === 0) return async () => wanted.map(({ spec }) => new (typedArrayOf(spec.dtype))(0));
    const staging = this.staging.acquire(total);
    wanted.forEach(({ from }, i) => {
      if (elementAt(sizes, i) > 0)
        encoder.copyBufferToBuffer(from.buffer, from.offset, staging, elementAt(offsets, i), elementAt(sizes, i));
    });
    return () => {
      this.counters.readbacks++;
      const mapped = staging.mapAsync(mapRead, 0, roundUp(total, 4)).then(() => {
        const bytes = staging.getMappedRange(0, roundUp(total, 4));
        const arrays = wanted.map(({ spec }, i) => {
          return new (typedArrayOf(spec.dtype))(bytes.slice(elementAt(offsets, i), elementAt(offsets, i) + deviceBytes(spec)));
        });
        staging.unmap();
        this.staging.release(staging);
        return arrays;
      });
      return this.guard(mapped);
    };
  }

  /** Reads one tensor back as the device holds it, after all work that was submitted before. */
  async readTensor(wanted: Readback): Promise<TypedArray> {
    this.check();
    const encoder = this.device.createCommandEncoder();
    const finish = this.readBack(encoder, [wanted]);
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
      throw this.#end ?? error;
    }
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
