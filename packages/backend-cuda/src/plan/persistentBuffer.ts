import type { TypedArray } from "@centella/core";
import { elementCount, layoutOf, type Persistent, PersistentBuffer, typedArrayOf } from "@centella/core/backend";
import type { Allocation, Device } from "../device/device.ts";
import { bytesOf, readAllocation, writeThrough } from "../device/deviceTensor.ts";
import { isDecoded, residentBytes, toResident } from "../device/resident.ts";
import type { UnitMatrix } from "../weights/unitFormat.ts";

/** A persistent in CUDA device memory. */
export class CudaPersistentBuffer extends PersistentBuffer {
  readonly allocation: Allocation;
  readonly convertedTo: string | undefined;
  /** The form of a weight in units. */
  readonly units: UnitMatrix | undefined;
  protected readonly device: Device;

  /** `bytes` is by default the size of the resident form. */
  constructor(device: Device, persistent: Persistent, bytes?: number) {
    super(persistent);
    const { dtype, shape } = persistent.spec;
    this.device = device;
    this.convertedTo = isDecoded(dtype) ? "f32" : undefined;
    this.allocation = device.alloc(bytes ?? residentBytes(dtype, elementCount(shape)), "persistents");
    if (persistent.init === "zeros") this.clear();
  }

  get bytes(): number {
    return this.allocation.bytes;
  }

  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    const { dtype } = this.persistent.spec;
    if (!isDecoded(dtype)) return writeThrough(this.device, this.allocation, offset, chunk);
    const { elements, bytes } = layoutOf(dtype);
    // `chunk.slice()` of a Node Buffer would be a view of its whole pool.
    const stored = new (typedArrayOf(dtype))(new Uint8Array(chunk).buffer);
    const resident = toResident({ dtype, shape: [(chunk.length / bytes) * elements] }, stored);
    await writeThrough(this.device, this.allocation, residentBytes(dtype, (offset / bytes) * elements), bytesOf(resident));
  }

  protected override async read(): Promise<TypedArray> {
    const bytes = await readAllocation(this.device, this.allocation);
    return new (typedArrayOf(this.persistent.spec.dtype))(bytes.buffer);
  }

  /** Queued on the device at once. */
  protected override clear(): void {
    const { address, bytes } = this.allocation;
    if (bytes > 0) this.device.call((driver) => driver.zero(address, bytes));
  }

  protected override free(): void {
    this.device.quietly(() => this.allocation.free());
  }
}
