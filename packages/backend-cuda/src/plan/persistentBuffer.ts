import type { TypedArray } from "@centella/core";
import { layoutOf, type Persistent, PersistentBuffer, typedArrayOf } from "@centella/core/backend";
import { deviceBytes, recodedTo, toDevice } from "@centella/gpu-kernels";
import type { Allocation, Device } from "../device/device.ts";
import { readAllocation, writeThrough } from "../device/deviceTensor.ts";
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
    this.device = device;
    this.convertedTo = recodedTo(persistent.spec.dtype);
    this.allocation = device.alloc(bytes ?? deviceBytes(persistent.spec), "persistents");
    if (persistent.init === "zeros") this.clear();
  }

  get bytes(): number {
    return this.allocation.bytes;
  }

  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    const { dtype } = this.persistent.spec;
    const { elements, bytes } = layoutOf(dtype);
    const to = deviceBytes({ dtype, shape: [(offset / bytes) * elements] });
    await writeThrough(this.device, this.allocation, to, toDevice(dtype, chunk));
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
