import { type LoadOptions, ProgramError, ShapeError, type TensorSource, type TypedArray } from "@centella/core";
import { byteLength, layoutOf, type Persistent, readSource } from "@centella/core/backend";
import { groupRows } from "../formats/block.ts";
import { groupedBytes, rowBytesOf } from "../formats/interleave.ts";
import type { Interleaving } from "../formats/interleaving.ts";
import { packedBytes } from "../matmul/outer.ts";
import type { Heap } from "./heap.ts";
import { readPacked, writePacked } from "./packedPanels.ts";
import { readStored } from "./tensors.ts";
import { interleavedBytes, matricesOf, readInterleavedRow, writeInterleaved } from "./weightLayout.ts";

/** The f32 in bytes from anywhere. */
function floatsOf(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(buffer, byteOffset, bytes.length / 4);
}

/** Bytes per read of a source. */
const chunkBytes = 4 << 20;

/** A persistent's memory. Plans compiled with `shareWith` hold the same buffer. */
export class PersistentBuffer {
  readonly persistent: Persistent;
  readonly interleaving: Interleaving;
  /** Whether a matrix `[k, n]` lies in panels. */
  readonly isPacked: boolean;
  readonly #heap: Heap;
  #address: number | undefined;
  #source: TensorSource | undefined;
  #loaded: boolean;
  #owners = 0;

  constructor(heap: Heap, persistent: Persistent, { interleaving, isPacked }: Pick<PersistentBuffer, "interleaving" | "isPacked">) {
    const { init } = persistent;
    this.persistent = persistent;
    this.interleaving = interleaving;
    this.isPacked = isPacked;
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
    const { spec } = this.persistent;
    if (this.isPacked) return packedBytes(spec.shape[1]!, spec.shape[0]!);
    return this.interleaving === undefined ? byteLength(spec) : interleavedBytes(spec, this.interleaving);
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

  /** True where the type has no kernel of its own, so that the weight is in another form. */
  get isConverted(): boolean {
    return this.interleaving !== undefined && this.interleaving !== this.persistent.spec.dtype;
  }

  async load(source: TensorSource, { signal, onProgress }: LoadOptions): Promise<void> {
    const { name, spec } = this.persistent;
    const total = byteLength(spec);
    if (source.size !== total) throw new ShapeError(`load ${name}`, `a source of ${total} bytes`, `${source.size} bytes`);
    const address = this.address;
    this.#loaded = false;
    for (const { from, length, to } of this.#chunks(total)) {
      signal?.throwIfAborted();
      const bytes = await readSource(name, source, from, length, signal);
      const { u8 } = this.#heap;
      if (this.isPacked) writePacked(floatsOf(bytes), from / (4 * spec.shape[1]!), spec, this.#panels);
      else if (this.interleaving === undefined) u8.set(bytes, address + to);
      else writeInterleaved(spec.dtype, this.interleaving, spec.shape.at(-1)!, bytes, u8, address + to);
      onProgress?.(from + length, total);
    }
    this.#source = source;
    this.#loaded = true;
  }

  /** Parts of the source, and where they go in memory: whole groups of rows where rows are interleaved, a matrix's last may be short. */
  *#chunks(total: number): Iterable<{ readonly from: number; readonly length: number; readonly to: number }> {
    const { spec } = this.persistent;
    if (this.interleaving === undefined) {
      const unit = this.isPacked ? 4 * spec.shape[1]! : layoutOf(spec.dtype).bytes;
      const step = Math.max(1, Math.floor(chunkBytes / unit)) * unit;
      for (let from = 0; from < total; from += step) yield { from, length: Math.min(step, total - from), to: from };
      return;
    }
    const { count, rows, k } = matricesOf(spec);
    const { elements, bytes } = layoutOf(spec.dtype);
    const sourceRow = (k / elements) * bytes;
    const row = rowBytesOf(this.interleaving, k);
    const step = Math.max(1, Math.floor(chunkBytes / (groupRows * Math.max(row, sourceRow)))) * groupRows;
    const matrix = groupedBytes(this.interleaving, rows, k);
    for (let index = 0; index < count; index++) {
      for (let first = 0; first < rows; first += step) {
        const length = Math.min(step, rows - first) * sourceRow;
        yield { from: (index * rows + first) * sourceRow, length, to: index * matrix + first * row };
      }
    }
  }

  async save(): Promise<TypedArray> {
    const { name, spec } = this.persistent;
    if (!this.#loaded) throw new ProgramError(`save: expected ${name} to be loaded; call plan.load() first`);
    const { interleaving } = this;
    if (this.isPacked) return readPacked(this.#panels, spec);
    if (interleaving === undefined) return readStored(this.#heap, spec, this.address);
    // What is kept in another form is read again where it came from; without a source it is still the zeros that it started as.
    if (interleaving !== spec.dtype) return (await this.#source?.read(0, byteLength(spec)))?.slice() ?? new Uint8Array(byteLength(spec));
    const { count, rows, k } = matricesOf(spec);
    const rowBytes = rowBytesOf(interleaving, k);
    const saved = new Uint8Array(count * rows * rowBytes);
    for (let row = 0; row < count * rows; row++) {
      const matrix = this.address + Math.floor(row / rows) * groupedBytes(interleaving, rows, k);
      readInterleavedRow(interleaving, row % rows, this.#heap.u8, matrix, saved.subarray(row * rowBytes, (row + 1) * rowBytes));
    }
    return saved;
  }

  get #panels(): Float32Array {
    return this.#heap.f32.subarray(this.address / 4, (this.address + this.bytes) / 4);
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
