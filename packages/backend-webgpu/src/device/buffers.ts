import { OutOfMemoryError } from "@centella/core";
import { paddedBytes, roundUp } from "./layout.ts";
import { usage } from "./usage.ts";

/** A piece of a GPU buffer. */
export interface Region {
  readonly buffer: GPUBuffer;
  readonly offset: number;
}

/** A device, and its name in errors. */
export interface NamedDevice {
  readonly device: GPUDevice;
  readonly name: string;
}

/** Usage of buffers that hold tensors. */
export const tensorUsage: number = usage.storage | usage.copySource | usage.copyTarget;
/** Usage of buffers that the host reads results from. */
export const readbackUsage: number = usage.mapRead | usage.copyTarget;

/**
 * Bytes of freed buffers that a pool keeps for reuse, and the share of the largest buffer that they may be. Creating a buffer of 128 MiB and clearing it
 * takes longer than most kernels that write one.
 */
const keptBytes = { least: 2 ** 26, most: 2 ** 29 };
const keptShare = 8;

/** Buffers of one usage, reused by size. Reuse needs no waiting: all work of the device is in one queue. */
export class BufferPool {
  readonly #device: NamedDevice;
  readonly #usage: number;
  readonly #onRefusal: (bytes: number) => void;
  readonly #keptBytes: number;
  readonly #totalBytes: number;
  /** The largest size of a buffer. */
  readonly #mostBytes: number;
  /** Oldest first. */
  readonly #free: GPUBuffer[] = [];
  #freeBytes = 0;
  #usedBytes = 0;

  /**
   * @param onRefusal called later with a size that the device had no memory for
   * @param totalBytes bytes of all buffers from which on free ones make room for new ones
   */
  constructor(device: NamedDevice, usageFlags: number, onRefusal: (bytes: number) => void, totalBytes: number = Number.POSITIVE_INFINITY) {
    this.#totalBytes = totalBytes;
    this.#device = device;
    this.#usage = usageFlags;
    this.#onRefusal = onRefusal;
    const { maxBufferSize } = device.device.limits;
    this.#keptBytes = Math.max(keptBytes.least, Math.min(keptBytes.most, maxBufferSize / keptShare));
    this.#mostBytes = maxBufferSize - (maxBufferSize % paddedBytes(1));
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get freeBytes(): number {
    return this.#freeBytes;
  }

  acquire(bytes: number): GPUBuffer {
    const size = sizeClass(bytes, this.#mostBytes);
    const at = this.#free.findLastIndex((buffer) => buffer.size === size);
    const [reused] = at < 0 ? [] : this.#free.splice(at, 1);
    if (reused !== undefined) {
      this.#freeBytes -= size;
      this.#usedBytes += size;
      return reused;
    }
    this.#keepFree(this.#totalBytes - this.#usedBytes - size);
    const { result, refused } = watchMemory(this.#device.device, () => createBuffer(this.#device, size, this.#usage));
    // A lost device does not answer; work that uses the buffer fails by itself.
    refused.then(
      (isRefused) => (isRefused ? this.#onRefusal(size) : undefined),
      () => undefined,
    );
    this.#usedBytes += size;
    return result;
  }

  /** Gives a buffer up that is not worth keeping. */
  discard(buffer: GPUBuffer): void {
    this.#usedBytes -= buffer.size;
    buffer.destroy();
  }

  release(buffer: GPUBuffer): void {
    this.#usedBytes -= buffer.size;
    this.#free.push(buffer);
    this.#freeBytes += buffer.size;
    this.#keepFree(this.#keptBytes);
  }

  /** Destroys the oldest free buffers beyond some bytes. */
  #keepFree(bytes: number): void {
    while (this.#freeBytes > bytes) {
      const oldest = this.#free.shift();
      if (oldest === undefined) break;
      this.#freeBytes -= oldest.size;
      oldest.destroy();
    }
  }
}

/** Sizes in steps of an eighth of an octave up to `most`, so that nearly equal ones share buffers at the cost of 12 % at most. */
function sizeClass(bytes: number, most: number): number {
  const step = Math.max(256, 2 ** (Math.floor(Math.log2(Math.max(bytes, 1))) - 3));
  return Math.max(paddedBytes(bytes), Math.min(roundUp(Math.max(bytes, 1), step), most));
}

/** A buffer, mapped if the host may write it. @throws {OutOfMemoryError} if the size is above the device's limit */
export function createBuffer({ device, name }: NamedDevice, bytes: number, usageFlags: number): GPUBuffer {
  const size = paddedBytes(bytes);
  const limit = device.limits.maxBufferSize;
  if (size > limit) throw new OutOfMemoryError(name, size, { limit });
  return device.createBuffer({ size, usage: usageFlags, mappedAtCreation: (usageFlags & usage.mapWrite) !== 0 });
}

/** Runs `allocate` and turns a refusal by the device into an error. @throws {OutOfMemoryError} */
export async function guardMemory<T>({ device, name }: NamedDevice, bytes: number, allocate: () => T): Promise<T> {
  const { result, refused } = watchMemory(device, allocate);
  if (await refused) throw new OutOfMemoryError(name, bytes);
  return result;
}

/** Runs `allocate`; `refused` resolves to true if the device had no memory for it. */
function watchMemory<T>(device: GPUDevice, allocate: () => T): { readonly result: T; readonly refused: Promise<boolean> } {
  device.pushErrorScope("out-of-memory");
  let error: Promise<GPUError | null> | undefined;
  try {
    const result = allocate();
    error = device.popErrorScope();
    return { result, refused: error.then((found) => found !== null) };
  } finally {
    if (error === undefined) void device.popErrorScope();
  }
}
