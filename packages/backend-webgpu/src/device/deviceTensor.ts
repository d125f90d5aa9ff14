import { ArgumentError, type ConcreteSpec, DisposedError, Tensor, type TypedArray } from "@centella/core";
import { formatSpec, type TensorStorage } from "@centella/core/backend";
import { copyBytes, deviceBytes, isRecoded, toDevice } from "./layout.ts";
import type { DeviceQueue } from "./queue.ts";

/** A tensor in a buffer of its own. The buffer exists by the time `produced` resolves. */
export class DeviceStorage implements TensorStorage {
  readonly device = "webgpu";
  readonly queue: DeviceQueue;
  readonly spec: ConcreteSpec;
  /** Resolves when the work that writes the content is submitted, rejects with its error. */
  produced: Promise<unknown> = Promise.resolve();
  /** Why the content was never written. */
  failure: Error | undefined;
  #buffer: GPUBuffer | undefined;
  #users = 1;
  /** Stored form of a type that the buffer holds in another form. */
  readonly #stored: TypedArray | undefined;

  constructor(queue: DeviceQueue, spec: ConcreteSpec, stored?: TypedArray) {
    this.queue = queue;
    this.spec = spec;
    this.#stored = stored;
  }

  /** Memory for the content; called when the work that writes it is submitted. */
  allocate(): GPUBuffer {
    this.#buffer ??= this.queue.tensors.acquire(deviceBytes(this.spec));
    return this.#buffer;
  }

  /** The content, for work that is submitted after the work that writes it. @throws the error of that work */
  get buffer(): GPUBuffer {
    if (this.failure !== undefined) throw this.failure;
    if (this.#buffer === undefined) throw new DisposedError(`tensor ${formatSpec(this.spec)}`);
    return this.#buffer;
  }

  /** Keeps the memory until {@link free}, for queued work that reads it. */
  retain(): void {
    this.#users++;
  }

  async ready(): Promise<void> {
    await this.produced;
    await this.queue.done();
  }

  async read(): Promise<TypedArray> {
    return this.#stored?.slice() ?? this.#readBack(undefined);
  }

  async readInto(target: TypedArray): Promise<void> {
    if (this.#stored === undefined) await this.#readBack(target);
    else target.set(this.#stored);
  }

  async #readBack(target: TypedArray | undefined): Promise<TypedArray> {
    this.retain();
    try {
      await this.produced;
      const reading = await this.queue.order.post(undefined, () => ({
        data: this.queue.readTensor({ spec: this.spec, from: { buffer: this.buffer, offset: 0 } }, target),
      }));
      return await reading.data;
    } finally {
      this.free();
    }
  }

  free(): void {
    if (--this.#users > 0 || this.#buffer === undefined) return;
    this.queue.tensors.release(this.#buffer);
    this.#buffer = undefined;
  }
}

/** A tensor with content from the host. */
export function uploadTensor(queue: DeviceQueue, spec: ConcreteSpec, data: TypedArray): Tensor {
  queue.check();
  const storage = new DeviceStorage(queue, spec, isRecoded(spec.dtype) ? data.slice() : undefined);
  const buffer = storage.allocate();
  queue.upload(toDevice(spec, data), { buffer, offset: 0 });
  queue.counters.uploads++;
  return new Tensor(spec, storage);
}

/** Copies a tensor to other memory of the device, `count` times. Resolves with the time of all copies in microseconds. */
export async function timeCopies(queue: DeviceQueue, { storage }: Tensor, count: number): Promise<number> {
  if (!(storage instanceof DeviceStorage) || storage.queue !== queue) {
    const got = storage instanceof DeviceStorage ? "one of another device" : `one on ${storage.device}`;
    throw new ArgumentError("timeCopies", "a tensor of this backend", got, "pass what its upload() or plan.run() returned");
  }
  await storage.ready();
  const { buffer } = storage;
  const bytes = copyBytes(deviceBytes(storage.spec));
  const target = queue.tensors.acquire(bytes);
  try {
    const encoder = queue.device.createCommandEncoder();
    for (let i = 0; i < count; i++) encoder.copyBufferToBuffer(buffer, 0, target, 0, bytes);
    const start = performance.now();
    queue.submit(encoder);
    await queue.done();
    return 1000 * (performance.now() - start);
  } finally {
    queue.tensors.release(target);
  }
}
