import type { TypedArray } from "@centella/core";
import { type Chunk, layoutOf, type Persistent, PersistentBuffer, type ReadChunk, typedArrayOf } from "@centella/core/backend";
import { deviceBytes, recodedTo, toDevice } from "@centella/gpu-kernels";
import type { Allocation, Device } from "../device/device.ts";
import { readAllocation } from "../device/deviceTensor.ts";
import type { Handle } from "../device/driver.ts";
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

  /** Chunks are read into page-locked memory while the device copies others. */
  protected override async transfer(read: ReadChunk, moved: (bytes: number) => void): Promise<void> {
    if (this.convertedTo !== undefined) return super.transfer(read, moved);
    const header = this.headerBytes;
    await this.device.uploads.forEach(
      this.chunks(),
      ({ length }) => header + length,
      async (chunk, { block, bytes }) => {
        const place = bytes.subarray(header, header + chunk.length);
        const stored = await read(chunk, () => place);
        if (stored !== place) place.set(stored);
        await this.copyIn(chunk, block.handle, bytes);
        moved(chunk.length);
      },
    );
  }

  /** Bytes before a chunk in page-locked memory that {@link copyIn} writes. */
  protected get headerBytes(): number {
    return 0;
  }

  /** Queues the copy of a chunk, which is in the form that the device reads, from page-locked memory whose bytes are `staged`. */
  protected async copyIn({ offset, length }: Chunk, pinned: Handle, _staged: Uint8Array): Promise<void> {
    if (length > 0) this.device.call((driver) => driver.copyToDevice(this.allocation.address + BigInt(offset), pinned, length));
  }

  /** Writes a chunk of a type that is recoded. */
  protected override async write(chunk: Uint8Array, offset: number): Promise<void> {
    const { dtype } = this.persistent.spec;
    const { elements, bytes: blockBytes } = layoutOf(dtype);
    const form = toDevice(dtype, chunk);
    const to = { offset: deviceBytes({ dtype, shape: [(offset / blockBytes) * elements] }), length: form.length };
    const header = this.headerBytes;
    await this.device.uploads.forEach(
      [to],
      () => header + form.length,
      (_to, { block, bytes }) => {
        bytes.set(form, header);
        return this.copyIn(to, block.handle, bytes);
      },
    );
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
