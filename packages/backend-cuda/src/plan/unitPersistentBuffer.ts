import type { TypedArray } from "@centella/core";
import { byteLength, type Chunk, chunksOf, type Persistent, typedArrayOf } from "@centella/core/backend";
import type { Device } from "../device/device.ts";
import { readAllocation, stage } from "../device/deviceTensor.ts";
import { storedRowBytes, unpack } from "../weights/packing.ts";
import { packEntry, packHeaderBytes, packKernel, packThreads } from "../weights/packKernel.ts";
import { type UnitMatrix, unitRows } from "../weights/unitFormat.ts";
import { CudaPersistentBuffer } from "./persistentBuffer.ts";

/** A weight matrix in device memory, in units. Stored rows are packed on the device, one chunk after the other. */
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
    return chunksOf(this.storedBytes, unitRows * this.#rowBytes);
  }

  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    const { device, units } = this;
    const { format } = units;
    const rows = chunk.length / this.#rowBytes;
    const tiles = Math.ceil(rows / unitRows);
    const firstTile = offset / this.#rowBytes / unitRows;
    const tileBytes = units.units * format.bytes;
    const header = new Uint8Array(packHeaderBytes);
    new Uint32Array(header.buffer)[0] = rows;
    const ptx = packKernel(format, units.columns);
    const kernel = await device.kernel("load", ptx, packEntry, 0);
    try {
      const source = device.workspace(packHeaderBytes + chunk.length);
      stage(device, source, 0, [header, chunk]);
      const to = this.allocation.address + BigInt(firstTile * tileBytes);
      device.call((driver) =>
        driver.launch({
          kernel,
          grid: [tiles * units.units, 1, 1],
          block: [packThreads, 1, 1],
          sharedBytes: 0,
          isDependent: false,
          args: [source.address, to],
          spans: [
            { bytes: packHeaderBytes + chunk.length, isWritten: false },
            { bytes: tiles * tileBytes, isWritten: true },
          ],
        }),
      );
      // Before the next chunk may overwrite the workspace.
      await device.finished();
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

  get #rowBytes(): number {
    return storedRowBytes(this.units.format, this.units.columns);
  }
}
