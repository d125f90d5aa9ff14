import type { TypedArray } from "@centella/core";
import { byteLength, type Chunk, chunksOf, type Persistent, typedArrayOf } from "@centella/core/backend";
import type { Device } from "../device/device.ts";
import { readAllocation } from "../device/deviceTensor.ts";
import type { Handle } from "../device/driver.ts";
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

  protected override async copyIn({ offset, length }: Chunk, pinned: Handle, staged: Uint8Array): Promise<void> {
    const { device, units } = this;
    const { format } = units;
    const rowBytes = storedRowBytes(format, units.columns);
    const rows = length / rowBytes;
    const tiles = Math.ceil(rows / unitRows);
    const firstTile = offset / rowBytes / unitRows;
    const tileBytes = units.units * format.bytes;
    const bytes = packHeaderBytes + length;
    new DataView(staged.buffer, staged.byteOffset).setUint32(0, rows, true);
    const ptx = packKernel(format, units.columns);
    const kernel = await device.kernel("load", ptx, packEntry, 0);
    try {
      const source = device.workspace(bytes);
      const to = this.allocation.address + BigInt(firstTile * tileBytes);
      device.launched(() => `the load of ${this.persistent.name}`);
      device.call((driver) => {
        driver.copyToDevice(source.address, pinned, bytes);
        driver.launch({
          kernel,
          grid: [tiles * units.units, 1, 1],
          block: [packThreads, 1, 1],
          sharedBytes: 0,
          isDependent: false,
          args: [source.address, to],
          spans: [
            { bytes, isWritten: false },
            { bytes: tiles * tileBytes, isWritten: true },
          ],
        });
      });
      this.#isCleared = false;
    } finally {
      device.releaseKernel(ptx);
    }
  }

  protected override async read(): Promise<TypedArray> {
    const { spec } = this.persistent;
    const stored = this.#isCleared
      ? new Uint8Array(byteLength(spec))
      : unpack(this.units, await readAllocation(this.device, this.allocation));
    return new (typedArrayOf(spec.dtype))(stored.buffer);
  }

  protected override clear(): void {
    super.clear();
    this.#isCleared = true;
  }
}
