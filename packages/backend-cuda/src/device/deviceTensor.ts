import { type ConcreteSpec, DisposedError, type Tensor, type TypedArray } from "@centella/core";
import { byteLength, type Chunk, checkData, chunksOf, formatSpec, type TensorStorage, typedArrayOf } from "@centella/core/backend";
import { recodedTo, toDevice } from "@centella/gpu-kernels";
import type { Allocation, Device } from "./device.ts";
import { bytesOf, unfilled } from "./hostArrays.ts";
import { moveInPieces, ringBytes } from "./pieces.ts";
import type { PinnedBlock } from "./pinnedPool.ts";

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
    const data = new (typedArrayOf(this.#spec.dtype))(unfilled(byteLength(this.#spec)).buffer);
    await this.readInto(data);
    return data;
  }

  async readInto(target: TypedArray): Promise<void> {
    this.retain();
    try {
      // The copy follows the work on the device, so one wait is enough for both.
      await this.queued;
      if (this.#stored !== undefined) {
        await this.#ready;
        bytesToFill(this.#spec, target).set(bytesOf(this.#stored));
        return;
      }
      const { filled } = await this.owner.queue.enqueue(() => ({
        filled: fill(this.owner, this.allocation, () => bytesToFill(this.#spec, target)),
      }));
      await filled;
      await this.#ready;
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

/** The bytes of an array of the caller, which may have been transferred or resized since the call. @throws {ArgumentError | ShapeError} */
function bytesToFill(spec: ConcreteSpec, target: TypedArray): Uint8Array {
  checkData("readInto", spec, target);
  return bytesOf(target);
}

/** Copies device memory to a new array. Runs inside the queue. */
export async function readAllocation(device: Device, memory: Allocation): Promise<Uint8Array<ArrayBuffer>> {
  const data = unfilled(memory.bytes);
  await fill(device, memory, () => data);
  return data;
}

/** Copies device memory to an array of its size, which `target` returns whenever a piece is written. Runs inside the queue. */
function fill(device: Device, { address, bytes }: Allocation, target: () => Uint8Array): Promise<void> {
  const ring = device.allocPinned(ringBytes(bytes));
  device.counters.readbacks++;
  const filled = moveInPieces(
    device,
    bytes,
    ({ offset, length }, at) => device.call((driver) => driver.copyFromDevice(ring.handle, address + BigInt(offset), length, at)),
    ({ offset, length }, at) => device.driver.readPinned(ring.handle, at, target().subarray(offset, offset + length)),
  );
  return device.track(filled.finally(() => ring.free()));
}

/** The same within the call; while nothing is under way. */
export function readBackSync(device: Device, { address, bytes }: Pick<Allocation, "address" | "bytes">): Uint8Array<ArrayBuffer> {
  const data = unfilled(bytes);
  if (bytes === 0) return data;
  const ring = device.allocPinned(ringBytes(bytes));
  try {
    for (const { offset, length } of chunksOf(bytes, 1, ringBytes(bytes))) {
      device.call((driver) => {
        driver.copyFromDevice(ring.handle, address + BigInt(offset), length);
        driver.finishedSync();
        driver.readPinned(ring.handle, 0, data.subarray(offset, offset + length));
      });
    }
    device.counters.readbacks++;
    return data;
  } finally {
    ring.free();
  }
}

/** Copies host data to device memory through page-locked memory, and waits for it. Runs inside the queue. */
export async function writeThrough(device: Device, to: Allocation, data: Uint8Array): Promise<void> {
  if (data.length === 0) return;
  const ring = device.staging(ringBytes(data.length));
  await moveInPieces(
    device,
    data.length,
    (piece, at) => writePiece(device, to, data, piece, ring, at),
    () => undefined,
  );
}

/** The same within the call; while nothing is under way. */
export function writeThroughSync(device: Device, to: Allocation, data: Uint8Array): void {
  if (data.length === 0) return;
  const ring = device.staging(ringBytes(data.length));
  for (const piece of chunksOf(data.length, 1, ringBytes(data.length))) {
    writePiece(device, to, data, piece, ring, 0);
    device.call((driver) => driver.finishedSync());
  }
}

/** Queues the copy of a piece of host data to the same place of device memory, through byte `at` of page-locked memory. */
function writePiece(device: Device, to: Allocation, data: Uint8Array, { offset, length }: Chunk, pinned: PinnedBlock, at: number): void {
  device.call((driver) => {
    driver.writePinned(pinned.handle, at, data.subarray(offset, offset + length));
    driver.copyToDevice(to.address + BigInt(offset), pinned.handle, length, at);
  });
}

/** The form that the device holds of a tensor: its stored form unless blocks are recoded. */
export function onDevice({ dtype }: ConcreteSpec, stored: TypedArray): TypedArray {
  return recodedTo(dtype) === undefined ? stored : (toDevice(dtype, bytesOf(stored)) as Uint8Array<ArrayBuffer>);
}
