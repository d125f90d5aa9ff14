import {
  byteLength,
  type DType,
  type LoadOptions,
  layoutOf,
  type Persistent,
  ProgramError,
  ShapeError,
  type TensorSource,
  type TypedArray,
  typedArrayOf,
} from "@centella/core";
import { groupRows } from "./formats/interleave.ts";
import type { Heap } from "./heap.ts";
import {
  type Interleaving,
  memoryBytes,
  memoryDType,
  readInterleavedRow,
  rowBytesOf,
  writeInterleaved,
  writeStored,
} from "./storedForm.ts";
import { readStored } from "./tensors.ts";

/** Bytes per read of a source. */
const chunkBytes = 4 << 20;

/** A persistent's memory. Plans compiled with `shareWith` hold the same cell. */
export class Cell {
  readonly persistent: Persistent;
  /** The dtype in memory. */
  readonly storedAs: DType;
  readonly interleaving: Interleaving;
  readonly #heap: Heap;
  #address: number | undefined;
  #source: TensorSource | undefined;
  #loaded: boolean;
  #owners = 0;

  constructor(heap: Heap, persistent: Persistent, interleaving: Interleaving) {
    const { spec, init } = persistent;
    this.persistent = persistent;
    this.storedAs = memoryDType(spec.dtype);
    this.interleaving = interleaving;
    this.#heap = heap;
    this.#loaded = init === "zeros";
  }

  get isLoaded(): boolean {
    return this.#loaded;
  }

  /** Address of the memory, allocated as zeros the first time. @throws {OutOfMemoryError} */
  get address(): number {
    this.#address ??= this.#heap.allocZeroed(this.bytes, "persistents");
    return this.#address;
  }

  get bytes(): number {
    return memoryBytes(this.persistent.spec, this.storedAs);
  }

  retain(): void {
    this.#owners++;
  }

  release(): void {
    this.#owners--;
    if (this.#owners > 0 || this.#address === undefined) return;
    this.#heap.free(this.#address);
    this.#address = undefined;
    this.#loaded = false;
  }

  /** What the user should know about the layout. */
  get warning(): string | undefined {
    const { name, spec } = this.persistent;
    if (this.storedAs === spec.dtype) return undefined;
    const [before, after] = [byteLength(spec), this.bytes].map((bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`);
    return `${name}: ${spec.dtype} has no kernel in wasm yet, so it is kept as f32: ${after} of memory for ${before} of weights`;
  }

  async load(source: TensorSource, { signal, onProgress }: LoadOptions): Promise<void> {
    const { name, spec } = this.persistent;
    const total = byteLength(spec);
    if (source.size !== total) throw new ShapeError(`load ${name}`, `a source of ${total} bytes`, `${source.size} bytes`);
    const { interleaving } = this;
    const rowBytes = interleaving === undefined ? 0 : rowBytesOf(interleaving, spec.shape[1]!);
    const unit = interleaving === undefined ? layoutOf(spec.dtype).bytes : groupRows * rowBytes;
    const step = Math.max(1, Math.floor(chunkBytes / unit)) * unit;
    let at = this.address;
    this.#loaded = false;
    for (let done = 0; done < total; ) {
      signal?.throwIfAborted();
      const length = Math.min(step, total - done);
      const bytes = await source.read(done, length, signal);
      if (bytes.length !== length) throw new ShapeError(`load ${name}`, `${length} bytes from the source at ${done}`, String(bytes.length));
      if (interleaving === undefined) at += writeStored(spec.dtype, bytes, this.#heap.u8, at);
      else {
        writeInterleaved(interleaving, rowBytes, bytes, this.#heap.u8, at);
        at += length;
      }
      done += length;
      onProgress?.(done, total);
    }
    this.#source = source;
    this.#loaded = true;
  }

  async save(): Promise<TypedArray> {
    const { name, spec } = this.persistent;
    if (!this.#loaded) throw new ProgramError(`save: expected ${name} to be loaded; call plan.load() first`);
    if (this.interleaving !== undefined) {
      const [rows, k] = spec.shape as readonly [number, number];
      const rowBytes = rowBytesOf(this.interleaving, k);
      const saved = new Uint8Array(rows * rowBytes);
      for (let row = 0; row < rows; row++) {
        readInterleavedRow(this.interleaving, row, rows, this.#heap.u8, this.address, saved.subarray(row * rowBytes, (row + 1) * rowBytes));
      }
      return saved;
    }
    if (this.storedAs === spec.dtype) return readStored(this.#heap, spec, this.address);
    const bytes = await this.#source?.read(0, byteLength(spec));
    return new (typedArrayOf(spec.dtype))(bytes?.slice().buffer ?? new ArrayBuffer(byteLength(spec)));
  }

  /** @throws {ProgramError} for a weight */
  reset(): void {
    const { name, init } = this.persistent;
    if (init !== "zeros")
      throw new ProgramError(`reset: expected a persistent that starts as zeros, got the weight ${name}; load it again`);
    const from = this.address;
    this.#heap.u8.fill(0, from, from + this.bytes);
  }
}
