import type { TypedArray } from "@centella/core";
import { type Chunk, chunksOf, type Persistent, type ReadChunk, typedArrayOf } from "@centella/core/backend";
import type { Device } from "../device/device.ts";
import type { Handle, Span } from "../device/driver.ts";
import { unfilled } from "../device/hostArrays.ts";
import { tilePowersEntry, tilePowersKernel, tilePowersThreads } from "../kernels/products/manyRows/tilePowers.ts";
import { storedRowBytes } from "../weights/packing.ts";
import { packEntry, packHeaderBytes, packKernel, packThreads } from "../weights/packKernel.ts";
import { type UnitMatrix, unitRows } from "../weights/unitFormat.ts";
import { unpackBlocksPerTile, unpackEntry, unpackKernel, unpackThreads } from "../weights/unpackKernel.ts";
import { CudaPersistentBuffer } from "./persistentBuffer.ts";

/** A weight matrix in device memory, in units. Rows, recoded if their type wants it, are packed and unpacked on the device, chunk by chunk. */
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

  protected override async copyIn(chunk: Chunk, pinned: Handle, staged: Uint8Array): Promise<void> {
    const { device, units } = this;
    const { format, columns } = units;
    const { rows, tiles, place } = this.#tilesOf(chunk);
    const bytes = packHeaderBytes + chunk.length;
    new DataView(staged.buffer, staged.byteOffset).setUint32(0, rows, true);
    const kernel = { ptx: packKernel(format, columns), entry: packEntry, blocks: tiles * units.units, threads: packThreads };
    await this.#launch(kernel, () => {
      const source = device.workspace(bytes);
      device.call((driver) => driver.copyToDevice(source.address, pinned, bytes));
      return [
        { address: source.address, bytes, isWritten: false },
        { ...place, isWritten: true },
      ];
    });
    this.#isCleared = false;
  }

  /** The rows of a chunk, the row tiles that they are a part of, and where these are. */
  #tilesOf({ offset, length }: Chunk): { readonly rows: number; readonly tiles: number; readonly place: Omit<MemorySpan, "isWritten"> } {
    const { format, columns, units } = this.units;
    const rowBytes = storedRowBytes(format, columns);
    const rows = length / rowBytes;
    const tiles = Math.ceil(rows / unitRows);
    const tileBytes = units * format.bytes;
    const address = this.allocation.address + BigInt((offset / rowBytes / unitRows) * tileBytes);
    return { rows, tiles, place: { address, bytes: tiles * tileBytes } };
  }

  /** Queues a launch with the arguments that `prepare` returns when the kernel is compiled. */
  async #launch({ ptx, entry, blocks, threads, work = "load" }: TransferKernel, prepare: () => readonly MemorySpan[]): Promise<void> {
    const { device } = this;
    const kernel = await device.kernel(work, { ptx, entry, sharedBytes: 0 });
    try {
      const spans = prepare();
      device.launched(() => `the ${work} of ${this.persistent.name}`);
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
    const stored = unfilled(this.storedBytes);
    if (this.#isCleared) stored.fill(0);
    else for (const chunk of this.chunks()) await this.#copyOut(chunk, stored.subarray(chunk.offset, chunk.offset + chunk.length));
    return new (typedArrayOf(this.persistent.spec.dtype))(stored.buffer);
  }

  /** Copies the stored form of a chunk, which the device unpacks, to the host. Nothing else uses the workspace meanwhile. */
  async #copyOut(chunk: Chunk, into: Uint8Array): Promise<void> {
    const { device } = this;
    const { format, columns } = this.units;
    const { tiles, place } = this.#tilesOf(chunk);
    const bytes = tiles * unitRows * storedRowBytes(format, columns);
    const blocks = tiles * unpackBlocksPerTile(format, columns);
    const kernel = { ptx: unpackKernel(format, columns), entry: unpackEntry, blocks, threads: unpackThreads, work: "save" } as const;
    const { address } = device.workspace(bytes);
    const pinned = device.allocPinned(chunk.length);
    try {
      await this.#launch(kernel, () => [
        { ...place, isWritten: false },
        { address, bytes, isWritten: true },
      ]);
      device.call((driver) => driver.copyFromDevice(pinned.handle, address, chunk.length));
      device.counters.readbacks++;
      await device.finished();
      device.driver.readPinned(pinned.handle, 0, into);
    } finally {
      pinned.free();
    }
  }

  protected override clear(): void {
    super.clear();
    this.#isCleared = true;
  }
}

/** A kernel that a load launches, or a save. */
interface TransferKernel {
  readonly work?: "load" | "save";
  readonly ptx: string;
  readonly entry: string;
  readonly blocks: number;
  readonly threads: number;
}

/** Memory that a launch reads or writes. */
interface MemorySpan extends Span {
  readonly address: Handle;
}
