import { CentellaError, DeviceLostError, DisposedError, KernelError, OutOfMemoryError, type TypedArray } from "@centella/core";
import { type Counters, createCounters, type HostResults } from "@centella/core/backend";
import { BufferPool, type Region, tensorUsage } from "./buffers.ts";
import type { Capabilities } from "./capabilities.ts";
import type { OpenDevice } from "./device.ts";
import { copyBytes } from "./layout.ts";
import { PipelineCache } from "./pipelines.ts";
import { type Readback, type ReadbackLayout, Readbacks, readbackLayout } from "./readbacks.ts";
import { PendingWork, SubmissionOrder } from "./submissions.ts";
import { leastMappedBytes, type MappedMemory, UploadRing } from "./uploads.ts";

/** Milliseconds within which a browser reports a loss after the first call that failed because of it: 1 or 2, more where its processes wait for a core. */
const lossDelayMs = 1000;

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
  /** What results pass through on their way to the host. */
  readonly readbacks: Readbacks;
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
    this.tensors = new BufferPool(this, tensorUsage, onRefusal);
    this.uploads = new UploadRing(this, onRefusal);
    this.readbacks = new Readbacks(this, onRefusal, () => this.#end ?? new DisposedError(this.name));
    void device.lost.then(({ message, reason }) => this.#finish(lossOf(this.name, message || reason)));
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      this.#report(uncaptured(this.name, event.error));
    });
  }

  /** What kernels may use of the device. */
  get capabilities(): Capabilities {
    return this.#open.capabilities;
  }

  /** @throws {DeviceLostError | DisposedError} if the device is gone; the error that it raised since the last call */
  check(): void {
    if (this.#end !== undefined) throw this.#end;
    const error = this.#unreported;
    this.#unreported = undefined;
    if (error !== undefined) throw error;
  }

  submit(encoder: GPUCommandEncoder): void {
    this.submitCommands(encoder.finish());
  }

  submitCommands(commands: GPUCommandBuffer): void {
    this.device.queue.submit([commands]);
    this.counters.submits++;
  }

  /** Copies `bytes` to a buffer of whole words. */
  upload(bytes: Uint8Array, to: Region): void {
    if (bytes.length >= leastMappedBytes) {
      const memory = this.uploads.acquire(bytes.length);
      memory.bytes.set(bytes);
      void this.write(memory, to);
    } else if (bytes.length > 0) {
      const words = new Uint8Array(copyBytes(bytes.length));
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

  /** Results whose copies to `staging` are recorded and submitted. The caller frees each of them. */
  readBack(staging: GPUBuffer | undefined, layout: ReadbackLayout): Promise<HostResults> {
    this.counters.readbacks++;
    const mapped = this.readbacks.map(staging, layout);
    const results = this.guard(mapped);
    // Another error of the device than the mapping's: the results come, and no reader has them.
    results.catch(() => mapped.then((late) => layout.places.forEach((_, i) => void late.free(i))).catch(() => undefined));
    return results;
  }

  /** Reads one tensor back as the device holds it, after all work that was submitted before: to `target`, or to a new array. */
  async readTensor(wanted: Readback, target?: TypedArray): Promise<TypedArray> {
    this.check();
    const encoder = this.device.createCommandEncoder();
    const layout = readbackLayout([wanted]);
    const staging = this.readbacks.record(encoder, layout);
    if (staging !== undefined) this.submit(encoder);
    const results = await this.readBack(staging, layout);
    try {
      if (target === undefined) return results.read(0);
      results.readInto(0, target);
      return target;
    } finally {
      results.free(0);
    }
  }

  /** Looks for a result that is due. In Node, its reader then need not wait for a turn of the event loop. */
  pollAtOnce(): void {
    this.#open.pollAtOnce?.();
  }

  /** A promise of the device, rejected with a typed error where the device fails. */
  guard<T>(promise: Promise<T>): Promise<T> {
    return this.pending.watch(promise, async (error) => {
      if (!(error instanceof CentellaError)) await this.checkLoss();
      return this.#end ?? error;
    });
  }

  /** Resolves to whether the device is lost. Browsers may reject what is pending some tasks before they say so. */
  async checkLoss(): Promise<boolean> {
    if (this.#end === undefined) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const delay = new Promise((resolve) => {
        timer = setTimeout(resolve, lossDelayMs);
      });
      await Promise.race([this.device.lost, delay]);
      clearTimeout(timer);
    }
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
    this.readbacks.settle();
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

function lossOf(name: string, reason: string): DeviceLostError {
  return new DeviceLostError(name, reason, "await backend.recover(), or open the backend again and reload the model");
}

/** The error for what the device raised outside of any error scope. Node has no global classes of such errors, so their names decide. */
function uncaptured(name: string, error: GPUError): CentellaError {
  const { message } = error;
  switch (error.constructor.name) {
    case "GPUOutOfMemoryError":
      return new OutOfMemoryError(name, undefined, undefined, `${message}; use a smaller model, a shorter context or another backend`);
    case "GPUInternalError":
      return new CentellaError(
        "webgpu",
        `${name}: the driver failed: ${message}; update the driver, or use smaller tensors or another backend`,
      );
    default:
      return new KernelError("webgpu", "", message);
  }
}
