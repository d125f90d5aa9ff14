import {
  type ConcreteSpec,
  type DType,
  type LoadOptions,
  OutOfMemoryError,
  ProgramError,
  ShapeError,
  type TensorSource,
  type TypedArray,
} from "@centella/core";
import { byteLength, formatSpec, heldWeightsWarnings, isQuantized, layoutOf, type Persistent, readSource } from "@centella/core/backend";
import { dequantize } from "@centella/quant";
import { createBuffer, guardMemory, tensorUsage } from "./buffers.ts";
import { deviceBytes, formatBytes, isDecoded, paddedBytes } from "./layout.ts";
import type { DeviceQueue } from "./queue.ts";

/** About how much is read from a source and written at a time. */
const chunkBytes = 4 * 2 ** 20;
/** Written bytes after which loading waits for the device: until then the driver holds a copy of them. */
const inFlightBytes = 64 * 2 ** 20;

/** A persistent's memory, shared by plans that were compiled with `shareWith`. */
export class PersistentBuffer {
  readonly name: string;
  readonly spec: ConcreteSpec;
  readonly buffer: GPUBuffer;
  isLoaded: boolean;
  readonly #queue: DeviceQueue;
  /** Where the exact bytes of a type come from that the buffer holds as f32. */
  #source: TensorSource | undefined;
  #plans = 1;

  private constructor(queue: DeviceQueue, { name, spec, init }: Persistent, buffer: GPUBuffer) {
    this.#queue = queue;
    this.name = name;
    this.spec = spec;
    this.isLoaded = init === "zeros";
    this.buffer = buffer;
  }

  /** @throws {OutOfMemoryError} naming the tensor where the device cannot hold or bind it */
  static async create(queue: DeviceQueue, persistent: Persistent): Promise<PersistentBuffer> {
    const { name, spec } = persistent;
    const bytes = paddedBytes(deviceBytes(spec));
    const limit = queue.device.limits.maxStorageBufferBindingSize;
    if (bytes > limit) {
      const fix = `${name} (${formatSpec(spec)}) is over the device's limit of ${formatBytes(limit)} for one tensor; split it, or use another backend`;
      throw new OutOfMemoryError(queue.name, bytes, limit, fix);
    }
    const buffer = await guardMemory(queue.device, bytes, () => createBuffer(queue.device, bytes, tensorUsage));
    return new PersistentBuffer(queue, persistent, buffer);
  }

  retain(): void {
    this.#plans++;
  }

  /** Frees the memory when the last plan is done with it. */
  release(): void {
    if (--this.#plans === 0) this.buffer.destroy();
  }

  async load(source: TensorSource, { signal, onProgress }: LoadOptions): Promise<void> {
    const { dtype } = this.spec;
    const total = byteLength(this.spec);
    if (source.size !== total) {
      throw new ShapeError(`load ${this.name}`, `a source of ${total} bytes for ${formatSpec(this.spec)}`, `${source.size} bytes`);
    }
    const unit = lcm(layoutOf(dtype).bytes, 4);
    const chunk = Math.max(unit, Math.floor(chunkBytes / unit) * unit);
    this.isLoaded = false;
    let inFlight = 0;
    for (let offset = 0; offset < total; offset += chunk) {
      signal?.throwIfAborted();
      const length = Math.min(chunk, total - offset);
      const stored = await readSource(this.name, source, offset, length, signal);
      const words = toWords(dtype, stored);
      const { elements, bytes } = layoutOf(dtype);
      const at = isDecoded(dtype) ? (offset / bytes) * elements * 4 : offset;
      await this.#queue.order.post(undefined, () => {
        this.#queue.check();
        this.#queue.device.queue.writeBuffer(this.buffer, at, words);
      });
      inFlight += words.byteLength;
      if (inFlight >= inFlightBytes) {
        await this.#queue.done();
        inFlight = 0;
      }
      onProgress?.(offset + length, total);
    }
    if (total === 0) onProgress?.(0, 0);
    this.#source = isDecoded(dtype) ? source : undefined;
    this.isLoaded = true;
  }

  /** The stored form: what the device holds, or the source's bytes once more where that is f32. */
  async save(): Promise<TypedArray> {
    const { dtype } = this.spec;
    if (!this.isLoaded) throw new ProgramError(`save: expected ${this.name} to be loaded, got nothing; call plan.load() first`);
    const total = byteLength(this.spec);
    if (isDecoded(dtype)) return (await this.#source?.read(0, total))?.slice() ?? new Uint8Array(total);
    const reading = await this.#queue.order.post(undefined, () => {
      this.#queue.check();
      const encoder = this.#queue.device.createCommandEncoder();
      const finish = this.#queue.readBack(encoder, [{ spec: this.spec, from: { buffer: this.buffer, offset: 0 } }]);
      if (total > 0) this.#queue.submit(encoder);
      return { arrays: finish() };
    });
    const [data] = await reading.arrays;
    return data!;
  }

  /** Zeros, in order with the runs. Zero bytes are zeros in every block format too. */
  reset(): void {
    const work = this.#queue.order.post(undefined, () => {
      this.#queue.check();
      const encoder = this.#queue.device.createCommandEncoder();
      encoder.clearBuffer(this.buffer);
      this.#queue.submit(encoder);
      this.#source = undefined;
      this.isLoaded = true;
    });
    work.catch(() => undefined);
  }
}

/** One warning per block type among the persistents, with what f32 costs. */
export function decodingWarnings(persistents: Iterable<Persistent>): readonly string[] {
  const decoded = [...persistents].filter(({ spec }) => isDecoded(spec.dtype));
  const weights = decoded.map(({ spec }) => ({ dtype: spec.dtype, storedBytes: byteLength(spec), heldBytes: deviceBytes(spec) }));
  return heldWeightsWarnings("webgpu", "f32", weights);
}

/** Stored bytes as they go into the buffer, padded to whole words. */
function toWords(dtype: DType, stored: Uint8Array): Uint8Array<ArrayBuffer> {
  if (!isQuantized(dtype) || !isDecoded(dtype)) {
    const words = new Uint8Array(Math.ceil(stored.byteLength / 4) * 4);
    words.set(stored);
    return words;
  }
  const { elements, bytes } = layoutOf(dtype);
  const values = new Float32Array((stored.byteLength / bytes) * elements);
  dequantize(dtype, stored, values);
  return new Uint8Array(values.buffer);
}

function lcm(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y > 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
