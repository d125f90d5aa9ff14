import type { LoadOptions, TensorSource, TypedArray } from "@centella/core";
import { type Chunk, chunksOf, layoutOf, type Persistent, PersistentBuffer } from "@centella/core/backend";
import { recodedTo } from "@centella/gpu-kernels";
import { createBuffer, guardMemory, tensorUsage } from "../device/buffers.ts";
import { blockStride, deviceBytes, paddedBytes, spaceBlocks, toDevice } from "../device/layout.ts";
import type { DeviceQueue } from "../device/queue.ts";
import { leastMappedBytes, type MappedMemory } from "../device/uploads.ts";
import { persistentOverLimit } from "./bindingLimits.ts";

/** About how many bytes are read from a source at a time. */
const chunkBytes = 16 * 2 ** 20;

/** A persistent in a GPU buffer. */
export class WebgpuPersistentBuffer extends PersistentBuffer {
  readonly convertedTo: string | undefined;
  #queue: DeviceQueue;
  #buffer: GPUBuffer;
  /** Memory that a source was given to fill. */
  #place: MappedMemory | undefined;
  /** Resolves when the last load is over; undefined if none is under way. */
  #loading: Promise<void> | undefined;

  private constructor(queue: DeviceQueue, persistent: Persistent, buffer: GPUBuffer) {
    super(persistent);
    this.#queue = queue;
    this.#buffer = buffer;
    this.convertedTo = recodedTo(persistent.spec.dtype);
  }

  /** @throws {OutOfMemoryError} naming the tensor if the device cannot hold it */
  static async create(queue: DeviceQueue, persistent: Persistent): Promise<WebgpuPersistentBuffer> {
    return new WebgpuPersistentBuffer(queue, persistent, await allocate(queue, persistent));
  }

  /** Moves to a device that was opened in place of a lost one, and fills the new memory. @throws as {@link create}, and as the source */
  async moveTo(queue: DeviceQueue): Promise<void> {
    // A load for the lost device must not write to the new one.
    await this.#loading;
    this.#place = undefined;
    this.#queue = queue;
    this.#buffer = await allocate(queue, this.persistent);
    await this.refill();
  }

  /** Loads one source after the other: they share the memory that a source fills. */
  override load(source: TensorSource, options: LoadOptions): Promise<void> {
    const queue = this.#queue;
    const load = (): Promise<void> => super.load(source, options);
    const loaded = this.#loading === undefined ? load() : this.#loading.then(() => queue.check()).then(load);
    const loading = loaded
      .catch(() => undefined)
      .then(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    this.#loading = loading;
    return loaded;
  }

  get buffer(): GPUBuffer {
    return this.#buffer;
  }

  get bytes(): number {
    return this.buffer.size;
  }

  /** The source is read again when the device was lost. */
  protected override get keepsSource(): boolean {
    return true;
  }

  protected override chunks(): Iterable<Chunk> {
    return chunksOf(this.storedBytes, 4 * layoutOf(this.persistent.spec.dtype).bytes, chunkBytes);
  }

  protected override async placeOf({ length }: Chunk): Promise<Uint8Array | undefined> {
    // Mapped memory is slow to read, so blocks are spaced on the way to it.
    if (this.convertedTo !== undefined || this.#isSpaced || length < leastMappedBytes) return undefined;
    this.#place = await this.#acquire(length);
    return this.#place.bytes;
  }

  get #isSpaced(): boolean {
    return blockStride(this.persistent.spec.dtype) !== undefined;
  }

  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    const { dtype } = this.persistent.spec;
    const { elements, bytes } = layoutOf(dtype);
    const to = { buffer: this.buffer, offset: deviceBytes({ dtype, shape: [(offset / bytes) * elements] }) };
    if (this.#place?.bytes === chunk) {
      void this.#queue.write(this.#place, to);
      this.#place = undefined;
    } else if (this.#isSpaced) {
      const memory = await this.#acquire(deviceBytes({ dtype, shape: [(chunk.length / bytes) * elements] }));
      spaceBlocks(dtype, chunk, memory.bytes);
      void this.#queue.write(memory, to);
    } else {
      const form = toDevice(this.persistent.spec, chunk);
      await this.#hasRoom(form.length);
      this.#queue.upload(form, to);
    }
  }

  async #acquire(length: number): Promise<MappedMemory> {
    // A load that failed left the memory of its last chunk.
    const left = this.#place;
    this.#place = undefined;
    if (left?.bytes.length === length) return left;
    if (left !== undefined) void this.#queue.uploads.release(left.buffer);
    await this.#hasRoom(length);
    return this.#queue.uploads.acquire(length);
  }

  async #hasRoom(length: number): Promise<void> {
    this.#queue.check();
    await this.#queue.guard(this.#queue.uploads.hasRoom(length));
    this.#queue.check();
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
    if (this.#place !== undefined) void this.#queue.uploads.release(this.#place.buffer);
    this.buffer.destroy();
  }
}

async function allocate(queue: DeviceQueue, persistent: Persistent): Promise<GPUBuffer> {
  const bytes = paddedBytes(deviceBytes(persistent.spec));
  const limit = queue.device.limits.maxBufferSize;
  if (bytes > limit) throw persistentOverLimit(queue.name, persistent, bytes, limit);
  return guardMemory(queue, bytes, () => createBuffer(queue, bytes, tensorUsage));
}
