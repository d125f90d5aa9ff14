import { type ConcreteSpec, type LoadOptions, ProgramError, type TensorSource, type TypedArray } from "@centella/core";
import { byteLength, elementCount, layoutOf, type Persistent, readSource, typedArrayOf } from "@centella/core/backend";
import type { Allocation, Device } from "./device.ts";
import { bytesOf, readBack, writeThrough } from "./deviceTensor.ts";
import { isDecoded, residentBytes, toResident } from "./resident.ts";

// Large enough for full transfer speed, small enough that a block type's f32 form of it is no burden.
const chunkBytes = 2 ** 22;

/** A persistent's memory, shared by the plans that were compiled with `shareWith`. */
export class PersistentBuffer {
  readonly spec: ConcreteSpec;
  readonly allocation: Allocation;
  isLoaded: boolean;
  readonly #device: Device;
  readonly #name: string;
  /** Where the stored form of a block type is read again, whose memory holds f32. */
  #source: TensorSource | undefined;
  #holders = 0;

  constructor(device: Device, { name, spec, init }: Persistent) {
    this.#device = device;
    this.#name = name;
    this.spec = spec;
    this.allocation = device.alloc(residentBytes(spec.dtype, elementCount(spec.shape)), "persistents");
    this.isLoaded = init === "zeros";
    if (init === "zeros") this.zero();
  }

  hold(): void {
    this.#holders++;
  }

  release(): void {
    this.#holders--;
    if (this.#holders === 0) this.allocation.free();
  }

  /** Queued on the device at once. */
  zero(): void {
    const { address, bytes } = this.allocation;
    if (bytes > 0) this.#device.call((driver) => driver.zero(address, bytes));
  }

  /** Streams the stored form in, chunk by chunk. Runs inside the queue. */
  async load(source: TensorSource, { signal, onProgress }: LoadOptions): Promise<void> {
    const { dtype } = this.spec;
    const total = byteLength(this.spec);
    if (source.size !== total)
      throw new ProgramError(
        `load ${this.#name}: expected a source of ${total} bytes, got ${source.size}; check the tensor's type and shape`,
      );
    const layout = layoutOf(dtype);
    const step = Math.max(1, Math.floor(chunkBytes / layout.bytes)) * layout.bytes;
    try {
      for (let offset = 0; offset < total; offset += step) {
        signal?.throwIfAborted();
        const raw = await readSource(this.#name, source, offset, Math.min(step, total - offset), signal);
        const elements = (raw.length / layout.bytes) * layout.elements;
        const stored = new (typedArrayOf(dtype))(raw.slice().buffer);
        const resident = toResident({ dtype, shape: [elements] }, stored);
        const at = residentBytes(dtype, (offset / layout.bytes) * layout.elements);
        await writeThrough(this.#device, this.allocation, at, bytesOf(resident));
        onProgress?.(offset + raw.length, total);
      }
    } catch (error) {
      // Half of it may be new.
      this.isLoaded = false;
      throw error;
    }
    if (total === 0) onProgress?.(0, 0);
    this.#source = isDecoded(dtype) ? source : undefined;
    this.isLoaded = true;
  }

  /** The stored form: from memory, or from the source for a block type, which no op writes. */
  async save(): Promise<TypedArray> {
    const { dtype } = this.spec;
    if (!this.isLoaded) throw new ProgramError(`save ${this.#name}: expected a loaded persistent; call plan.load() first`);
    const raw =
      this.#source === undefined ? await readBack(this.#device, this.allocation) : await this.#source.read(0, byteLength(this.spec));
    return new (typedArrayOf(dtype))(raw.slice().buffer);
  }
}
