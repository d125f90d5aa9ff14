import type { TypedArray } from "@centella/core";
import { byteLength, type Chunk, chunksOf, layoutOf, type Persistent, PersistentBuffer, type ReadChunk } from "@centella/core/backend";
import { groupRows } from "../formats/block.ts";
import type { FormatName } from "../formats/index.ts";
import { groupedBytes, type Interleaving, rowBytesOf } from "../formats/interleave.ts";
import { packedBytes } from "../matmul/outer.ts";
import type { Heap } from "./heap.ts";
import { writePacked } from "./packedPanels.ts";
import { readStored } from "./tensors.ts";
import { interleavedBytes, matricesOf, toForm } from "./weightLayout.ts";

/** Layout of a persistent in memory. */
export interface PersistentLayout {
  /** Format of interleaved rows. Undefined if bytes are stored as they were loaded. */
  readonly interleaving: Interleaving;
  /** Whether a matrix `[k, n]` is stored in panels. */
  readonly isPacked: boolean;
}

/** Interleaves `groups` groups of rows at an address to another one. */
export type Interleave = (rows: number, to: number, rowBytes: number, groups: number) => Promise<void>;

/** A persistent in WASM memory. */
export class WasmPersistentBuffer extends PersistentBuffer implements PersistentLayout {
  readonly interleaving: Interleaving;
  readonly isPacked: boolean;
  readonly #heap: Heap;
  readonly #interleave: Interleave | undefined;
  #address: number | undefined;

  constructor(
    heap: Heap,
    persistent: Persistent,
    { interleaving, isPacked }: PersistentLayout,
    interleave: (form: FormatName) => Interleave,
  ) {
    super(persistent);
    // Requested now, so that the function is compiled with the plan.
    this.#interleave = interleaving && interleave(interleaving);
    this.interleaving = interleaving;
    this.isPacked = isPacked;
    this.#heap = heap;
  }

  /**
   * Address of the memory, allocated with zeros at the first access.
   * @throws {OutOfMemoryError}
   */
  get address(): number {
    this.#address ??= this.#heap.allocZeroed(this.bytes, "persistents");
    return this.#address;
  }

  get bytes(): number {
    const { spec } = this.persistent;
    if (this.isPacked) {
      const { rows, k: columns } = matricesOf(spec);
      return packedBytes(columns, rows);
    }
    return this.interleaving === undefined ? byteLength(spec) : interleavedBytes(spec, this.interleaving);
  }

  get convertedTo(): string | undefined {
    const isConverted = this.interleaving !== undefined && this.interleaving !== this.persistent.spec.dtype;
    return isConverted ? "8-bit integers with f32 scales" : undefined;
  }

  /**
   * Bytes that are loaded together: groups of interleaved rows, whose last may be short, or rows of a matrix in panels.
   */
  protected override chunks(): Iterable<Chunk> {
    if (this.interleaving !== undefined) return this.#groupsOfRows(this.interleaving);
    if (!this.isPacked) return super.chunks();
    const { k: columns } = matricesOf(this.persistent.spec);
    return chunksOf(this.storedBytes, 4 * columns);
  }

  /** Bytes that are stored as they were loaded go to their place. A growing memory moves it, unless threads share it. */
  protected override placeOf({ offset, length }: Chunk): Uint8Array | undefined {
    if (this.isPacked || !this.#heap.isShared) return undefined;
    return this.#memory.subarray(offset, offset + length);
  }

  /** Reads a chunk while the one before is interleaved. */
  protected override async transfer(read: ReadChunk, moved: (bytes: number) => void): Promise<void> {
    const { interleaving } = this;
    const interleave = this.#interleave;
    if (interleaving === undefined || interleave === undefined) return super.transfer(read, moved);
    const chunks = [...this.chunks()];
    const heap = this.#heap;
    const most = chunks.reduce((bytes, { length }) => Math.max(bytes, length), 0);
    const rowBytes = rowBytesOf(interleaving, matricesOf(this.persistent.spec).k);
    const groupsOf = (bytes: number): number => Math.ceil(bytes / this.#storedRowBytes / groupRows);
    const stageBytes = groupsOf(most) * groupRows * rowBytes;
    const isInPlace = heap.isShared && interleaving === this.persistent.spec.dtype;
    const room = isInPlace ? undefined : new Uint8Array(most);
    const stages = heap.alloc(2 * stageBytes, "other");
    let writing = Promise.resolve();
    try {
      for (const [i, { offset, length }] of chunks.entries()) {
        const stage = stages + (i % 2) * stageBytes;
        const bytes = await read({ offset, length }, () => room?.subarray(0, length) ?? heap.u8.subarray(stage, stage + length));
        await writing;
        const groups = groupsOf(length);
        this.#stage(interleaving, bytes, stage, groups * groupRows * rowBytes);
        writing = interleave(stage, this.address + this.#offsetOf(interleaving, offset), rowBytes, groups).then(() => moved(length));
        // Awaited before the next chunk.
        writing.catch(() => undefined);
      }
      await writing;
    } finally {
      await writing.catch(() => undefined);
      heap.free(stages);
    }
  }

  /** Writes rows to `stage`, in the form that is interleaved, and zeros for the rows that the last group lacks. */
  #stage(form: FormatName, rows: Uint8Array, stage: number, stageBytes: number): void {
    const memory = this.#heap.u8;
    const isInPlace = rows.buffer === memory.buffer && rows.byteOffset === stage;
    const bytes = isInPlace ? rows : toForm(this.persistent.spec.dtype, form, rows);
    if (!isInPlace) memory.set(bytes, stage);
    memory.fill(0, stage + bytes.length, stage + stageBytes);
  }

  /** Where the interleaved rows belong whose stored form starts at `offset`. */
  #offsetOf(form: FormatName, offset: number): number {
    const { rows, k } = matricesOf(this.persistent.spec);
    const row = offset / this.#storedRowBytes;
    return Math.floor(row / rows) * groupedBytes(form, rows, k) + (row % rows) * rowBytesOf(form, k);
  }

  protected override write(chunk: Uint8Array, offset: number): void {
    const { spec } = this.persistent;
    if (this.isPacked) {
      const { k: columns } = matricesOf(spec);
      writePacked(floatsOf(chunk), offset / (4 * columns), spec, this.#panels);
      return;
    }
    const memory = this.#memory;
    const isInPlace = chunk.buffer === memory.buffer && chunk.byteOffset === memory.byteOffset + offset;
    if (!isInPlace) memory.set(chunk, offset);
  }

  protected override async read(): Promise<TypedArray> {
    const { isPacked, interleaving } = this;
    const { spec } = this.persistent;
    if (!isPacked && interleaving === undefined) return readStored(this.#heap, spec, this.address);
    const { readInterleaved, readPacked } = await import("./readBack.ts");
    return interleaving === undefined ? readPacked(this.#panels, spec) : readInterleaved(this.#memory, matricesOf(spec), interleaving);
  }

  protected override clear(): void {
    this.#memory.fill(0);
  }

  protected override free(): void {
    if (this.#address !== undefined) this.#heap.free(this.#address);
    this.#address = undefined;
  }

  *#groupsOfRows(interleaving: FormatName): Iterable<Chunk> {
    const { count, rows, k } = matricesOf(this.persistent.spec);
    const rowBytes = this.#storedRowBytes;
    // A chunk's bytes before and after the conversion are both bounded.
    const unit = groupRows * Math.max(rowBytesOf(interleaving, k), rowBytes);
    for (let matrix = 0; matrix < count; matrix++) {
      for (const { offset, length } of chunksOf(Math.ceil(rows / groupRows) * unit, unit)) {
        const first = (offset / unit) * groupRows;
        const last = Math.min(rows, first + (length / unit) * groupRows);
        yield { offset: (matrix * rows + first) * rowBytes, length: (last - first) * rowBytes };
      }
    }
  }

  /** Bytes of a row as it is stored. */
  get #storedRowBytes(): number {
    const { elements, bytes } = layoutOf(this.persistent.spec.dtype);
    return (matricesOf(this.persistent.spec).k / elements) * bytes;
  }

  get #panels(): Float32Array {
    const { buffer, byteOffset, length } = this.#memory;
    return new Float32Array(buffer, byteOffset, length / 4);
  }

  /** A view of the memory, until it grows. The address comes first: allocating may itself grow the memory, which replaces its views. */
  get #memory(): Uint8Array {
    const { address } = this;
    return this.#heap.u8.subarray(address, address + this.bytes);
  }
}

/** Floats from bytes at any alignment. */
function floatsOf(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Float32Array(buffer, byteOffset, bytes.length / 4);
}
