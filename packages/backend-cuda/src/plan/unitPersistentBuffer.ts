import type { TypedArray } from "@centella/core";
import { byteLength, type Chunk, chunksOf, type Persistent, type ReadChunk, typedArrayOf } from "@centella/core/backend";
import type { Device } from "../device/device.ts";
import { readAllocation } from "../device/deviceTensor.ts";
import type { Handle, Span } from "../device/driver.ts";
import { tilePowersEntry, tilePowersKernel, tilePowersThreads } from "../kernels/products/manyRows/tilePowers.ts";
import { storedRowBytes, unpack } from "../weights/packing.ts";
import { packEntry, packHeaderBytes, packKernel, packThreads } from "../weights/packKernel.ts";
import { type UnitMatrix, unitRows } from "../weights/unitFormat.ts";
import { CudaPersistentBuffer } from "./persistentBuffer.ts";

/** A weight matrix in device memory, in units. Rows, recoded if their type wants it, are packed on the device, chunk by chunk. */
export class UnitPersistentBuffer extends CudaPersistentBuffer {
  override readonly units: UnitMatrix;
  /** Whether it holds zeros, which are no units that a stored form could be read from. */
  #isCleared = false;

  constructor(device: Device, persistent: Persistent, units: UnitMatrix) {
    super(device, persistent, units.bytes);
    this.units = units;
  }

  /** Whole row tiles. */
  protected override chunks(): Iterable<Chunk> {
    return chunksOf(this.storedBytes, (unitRows * this.storedBytes) / this.units.rows);
  }

  protected override get headerBytes(): number {
    return packHeaderBytes;
  }

  protected override async transfer(read: ReadChunk, moved: (bytes: number) => void): Promise<void> {
    await super.transfer(read, moved);
    const { format, tiles, units, unitBytes, bytes } = this.units;
    if (bytes === unitBytes) return;
    const { address } = this.allocation;
    await this.#launch({ ptx: tilePowersKernel(format, units), entry: tilePowersEntry, blocks: tiles, threads: tilePowersThreads }, () => [
      { address, bytes: unitBytes, isWritten: false },
      { address: address + BigInt(unitBytes), bytes: bytes - unitBytes, isWritten: true },
    ]);
  }

  protected override async copyIn({ offset, length }: Chunk, pinned: Handle, staged: Uint8Array): Promise<void> {
    const { device, units } = this;
    const { format } = units;
    const rowBytes = storedRowBytes(format, units.columns);
    const rows = length / rowBytes;
    const tiles = Math.ceil(rows / unitRows);
    const tileBytes = units.units * format.bytes;
    const to = this.allocation.address + BigInt((offset / rowBytes / unitRows) * tileBytes);
    const bytes = packHeaderBytes + length;
    new DataView(staged.buffer, staged.byteOffset).setUint32(0, rows, true);
    const kernel = { ptx: packKernel(format, units.columns), entry: packEntry, blocks: tiles * units.units, threads: packThreads };
    await this.#launch(kernel, () => {
      const source = device.workspace(bytes);
      device.call((driver) => driver.copyToDevice(source.address, pinned, bytes));
      return [
        { address: source.address, bytes, isWritten: false },
        { address: to, bytes: tiles * tileBytes, isWritten: true },
      ];
    });
    this.#isCleared = false;
  }

  /** Queues a launch with the arguments that `prepare` returns when the kernel is compiled. */
  async #launch({ ptx, entry, blocks, threads }: LoadKernel, prepare: () => readonly MemorySpan[]): Promise<void> {
    const { device } = this;
    const kernel = await device.kernel("load", { ptx, entry, sharedBytes: 0 });
    try {
      const spans = prepare();
      device.launched(() => `the load of ${this.persistent.name}`);
      device.call((driver) =>
        driver.launch({
          kernel,
          grid: [blocks, 1, 1],
          block: [threads, 1, 1],
          sharedBytes: 0,
          isDependent: false,
          args: spans.map(({ address }) => address),
          spans,
        }),
      );
    } finally {
      device.releaseKernel(ptx);
    }
  }

  protected override async read(): Promise<TypedArray> {
    const { spec } = this.persistent;
    const stored = this.#isCleared
      ? new Uint8Array(byteLength(spec))
      : unpack(this.units, (await readAllocation(this.device, this.allocation)).subarray(0, this.units.unitBytes));
    return new (typedArrayOf(spec.dtype))(stored.buffer);
  }

  protected override clear(): void {
    super.clear();
    this.#isCleared = true;
  }
}

/** A kernel that a load launches. */
interface LoadKernel {
  readonly ptx: string;
  readonly entry: string;
  readonly blocks: number;
  readonly threads: number;
}

/** Memory that a launch reads or writes. */
interface MemorySpan extends Span {
  readonly address: Handle;
}
