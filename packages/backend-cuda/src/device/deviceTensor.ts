import { type ConcreteSpec, DisposedError, type Tensor, type TypedArray } from "@centella/core";
import { formatSpec, type TensorStorage, typedArrayOf } from "@centella/core/backend";
import { recodedTo, toDevice } from "@centella/gpu-kernels";
import { type Allocation, type Device, maxPollMicroseconds } from "./device.ts";
import { copyOf, unfilled } from "./hostArrays.ts";

/** Larger copies take longer than the caller's thread polls. */
const maxPolledBytes = 2 ** 20;

/** Name of the backend, and the device of its tensors. */
export const backendName = "cuda";

/** A tensor's memory on the device. It is freed when the handle and every run that reads it have released it. */
export class DeviceStorage implements TensorStorage {
  readonly device: string = backendName;
  readonly owner: Device;
  readonly allocation: Allocation;
  readonly #spec: ConcreteSpec;
  /** Settles when the work that produces the content is queued on the device. Later work on the device waits for it. */
  readonly queued: Promise<unknown>;
  readonly #ready: Promise<unknown>;
  /** Stored form of a block type that memory holds in another form. */
  readonly #stored: TypedArray | undefined;
  #isReady = false;
  #holders = 1;
  #isFreed = false;

  constructor(
    device: Device,
    spec: ConcreteSpec,
    allocation: Allocation,
    { queued, ready, stored }: { readonly queued: Promise<unknown>; readonly ready: Promise<unknown>; readonly stored?: TypedArray },
  ) {
    this.owner = device;
    this.allocation = allocation;
    this.queued = queued;
    this.#spec = spec;
    this.#ready = ready;
    this.#stored = stored;
    queued.catch(() => undefined);
    ready.then(
      () => {
        this.#isReady = true;
      },
      () => undefined,
    );
  }

  async ready(): Promise<void> {
    await this.#ready;
  }

  async read(): Promise<TypedArray> {
    this.retain();
    try {
      // The copy follows the work on the device, so one wait is enough for both.
      await this.queued;
      if (this.#stored !== undefined) {
        await this.#ready;
        return copyOf(this.#stored);
      }
      const [bytes] = await Promise.all([readBack(this.owner, this.allocation), this.#ready]);
      return new (typedArrayOf(this.#spec.dtype))(bytes.buffer);
    } finally {
      this.release();
    }
  }

  /** Blocks for the copy to the host; undefined while anything is under way on the device. */
  peek(): TypedArray | undefined {
    if (!this.#isReady || this.owner.isBusy) return undefined;
    if (this.#stored !== undefined) return this.#stored;
    const bytes = readBackSync(this.owner, this.allocation);
    return new (typedArrayOf(this.#spec.dtype))(bytes.buffer);
  }

  /** Keeps the memory for a run that is queued. */
  retain(): void {
    if (this.#isFreed && this.#holders === 0) throw new DisposedError(`tensor ${formatSpec(this.#spec)}`);
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    if (this.#holders === 0) this.allocation.free();
  }

  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.owner.release(() => this.release());
  }
}

/** Returns the memory of a tensor of this device, or undefined for tensors of other devices. */
export function storageOn(device: Device, tensor: Tensor): DeviceStorage | undefined {
  const { storage } = tensor;
  return storage instanceof DeviceStorage && storage.owner === device ? storage : undefined;
}

/** Copies device memory to a new array, after all work that was queued before. Waits for the copy outside of the queue. */
async function readBack(device: Device, memory: Allocation): Promise<Uint8Array<ArrayBuffer>> {
  const { data } = await device.queue.enqueue(() => ({ data: readAllocation(device, memory) }));
  return data;
}

/** Copies device memory to a new array. Runs inside the queue. */
export function readAllocation(device: Device, { address, bytes }: Allocation): Promise<Uint8Array<ArrayBuffer>> {
  const pinned = device.allocPinned(bytes);
  const read = async (): Promise<Uint8Array<ArrayBuffer>> => {
    try {
      if (bytes > 0) device.call((driver) => driver.copyFromDevice(pinned.handle, address, bytes));
      device.counters.readbacks++;
      await device.finished(undefined, bytes <= maxPolledBytes ? maxPollMicroseconds : 0);
      const data = unfilled(bytes);
      if (bytes > 0) device.driver.readPinned(pinned.handle, 0, data);
      return data;
    } finally {
      pinned.free();
    }
  };
  return device.track(read());
}

/** The same within the call; while nothing is under way. */
export function readBackSync(device: Device, { address, bytes }: Pick<Allocation, "address" | "bytes">): Uint8Array<ArrayBuffer> {
  const data = unfilled(bytes);
  if (bytes === 0) return data;
  const pinned = device.allocPinned(bytes);
  try {
    device.call((driver) => {
      driver.copyFromDevice(pinned.handle, address, bytes);
      driver.finishedSync();
      driver.readPinned(pinned.handle, 0, data);
    });
    device.counters.readbacks++;
    return data;
  } finally {
    pinned.free();
  }
}

/** Copies host data to device memory through page-locked memory, and waits for it. Runs inside the queue. */
export async function writeThrough(device: Device, to: Allocation, offset: number, data: Uint8Array): Promise<void> {
  if (data.length === 0) return;
  stage(device, to, offset, [data]);
  // Before the next writer may overwrite the block.
  await device.finished();
}

/** The same within the call; while nothing is under way. */
export function writeThroughSync(device: Device, to: Allocation, offset: number, data: Uint8Array): void {
  if (data.length === 0) return;
  stage(device, to, offset, [data]);
  device.call((driver) => driver.finishedSync());
}

/** Queues a copy of consecutive pieces of host data through page-locked memory. */
export function stage(device: Device, to: Allocation, offset: number, pieces: readonly Uint8Array[]): void {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const pinned = device.staging(bytes);
  device.call((driver) => {
    let at = 0;
    for (const piece of pieces) {
      driver.writePinned(pinned.handle, at, piece);
      at += piece.length;
    }
    driver.copyToDevice(to.address + BigInt(offset), pinned.handle, bytes);
  });
}

/** The form that the device holds of a tensor: its stored form unless blocks are recoded. */
export function onDevice({ dtype }: ConcreteSpec, stored: TypedArray): TypedArray {
  return recodedTo(dtype) === undefined ? stored : (toDevice(dtype, bytesOf(stored)) as Uint8Array<ArrayBuffer>);
}

export function bytesOf(data: TypedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
