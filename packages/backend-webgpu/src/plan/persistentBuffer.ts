import { type DType, OutOfMemoryError, type TypedArray } from "@centella/core";
import { formatSpec, isQuantized, layoutOf, type Persistent, PersistentBuffer } from "@centella/core/backend";
import { dequantize } from "@centella/quant";
import { formatBytes } from "@centella/quant/checks";
import { createBuffer, guardMemory, tensorUsage } from "../device/buffers.ts";
import { deviceBytes, isDecoded, paddedBytes } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";

/** Written bytes after which loading waits for the device: until then the driver holds a copy of them. */
const inFlightBytes = 64 * 2 ** 20;

/** A persistent in a GPU buffer. */
export class WebgpuPersistentBuffer extends PersistentBuffer {
  readonly buffer: GPUBuffer;
  readonly convertedTo: string | undefined;
  readonly #queue: DeviceQueue;
  #inFlight = 0;

  private constructor(queue: DeviceQueue, persistent: Persistent, buffer: GPUBuffer) {
    super(persistent);
    this.#queue = queue;
    this.buffer = buffer;
    this.convertedTo = isDecoded(persistent.spec.dtype) ? "f32" : undefined;
  }

  /** @throws {OutOfMemoryError} naming the tensor if the device cannot hold or bind it */
  static async create(queue: DeviceQueue, persistent: Persistent): Promise<WebgpuPersistentBuffer> {
    const { name, spec } = persistent;
    const bytes = paddedBytes(deviceBytes(spec));
    const limit = queue.device.limits.maxStorageBufferBindingSize;
    if (bytes > limit) {
      const fix = `${name} (${formatSpec(spec)}) is over the device's limit of ${formatBytes(limit)} for one tensor; split it, or use another backend`;
      throw new OutOfMemoryError(queue.name, bytes, limit, fix);
    }
    const buffer = await guardMemory(queue.device, bytes, () => createBuffer(queue.device, bytes, tensorUsage));
    return new WebgpuPersistentBuffer(queue, persistent, buffer);
  }

  get bytes(): number {
    return this.buffer.size;
  }

  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    this.#queue.check();
    const { dtype } = this.persistent.spec;
    const { elements, bytes } = layoutOf(dtype);
    const words = toWords(dtype, chunk);
    const at = isDecoded(dtype) ? (offset / bytes) * elements * 4 : offset;
    this.#queue.device.queue.writeBuffer(this.buffer, at, words);
    this.#inFlight += words.byteLength;
    if (this.#inFlight < inFlightBytes) return;
    await this.#queue.done();
    this.#inFlight = 0;
  }

  protected override read(): Promise<TypedArray> {
    return this.#queue.readTensor({ spec: this.persistent.spec, from: { buffer: this.buffer, offset: 0 } });
  }

  protected override clear(): void {
    this.#queue.check();
    const encoder = this.#queue.device.createCommandEncoder();
    encoder.clearBuffer(this.buffer);
    this.#queue.submit(encoder);
  }

  protected override free(): void {
    this.buffer.destroy();
  }
}

/** Stored bytes as they are written to the buffer, padded to whole words. */
function toWords(dtype: DType, stored: Uint8Array): Uint8Array<ArrayBuffer> {
  if (!isQuantized(dtype) || !isDecoded(dtype)) {
    if (stored.byteLength % 4 === 0 && stored.buffer instanceof ArrayBuffer) return stored as Uint8Array<ArrayBuffer>;
    const words = new Uint8Array(Math.ceil(stored.byteLength / 4) * 4);
    words.set(stored);
    return words;
  }
  const { elements, bytes } = layoutOf(dtype);
  const values = new Float32Array((stored.byteLength / bytes) * elements);
  dequantize(dtype, stored, values);
  return new Uint8Array(values.buffer);
}
