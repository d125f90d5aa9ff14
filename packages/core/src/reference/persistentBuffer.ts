import { decode, encode } from "../backend/decode.ts";
import { type Chunk, chunksOf, PersistentBuffer } from "../backend/persistentBuffer.ts";
import { decodedArrayOf, isQuantized, type TypedArray, typedArrayOf } from "../dtype.ts";
import { OutOfMemoryError } from "../errors.ts";
import type { Persistent } from "../program/programGraph.ts";
import { type ConcreteSpec, elementCount } from "../spec.ts";

/** A persistent of the scalar backend: its decoded elements, and its blocks if its dtype has blocks. */
export class ReferencePersistentBuffer extends PersistentBuffer {
  readonly convertedTo = undefined;
  #data: TypedArray | undefined;
  /** Blocks as they were loaded, until an op writes: not every block type can be encoded again. */
  #blocks: Uint8Array | undefined;

  constructor(persistent: Persistent) {
    super(persistent);
    if (persistent.init === "zeros") this.#data = zeros(persistent.spec);
  }

  get bytes(): number {
    return (this.#data?.byteLength ?? 0) + (this.#blocks?.byteLength ?? 0);
  }

  /** The elements, f16, bf16 and block types as f32. */
  get data(): TypedArray {
    this.#data ??= zeros(this.persistent.spec);
    return this.#data;
  }

  get blocks(): Uint8Array | undefined {
    return this.#blocks;
  }

  /** An op has written the elements: the blocks do not hold them any more. */
  forgetBlocks(): void {
    this.#blocks = undefined;
  }

  /** The whole source at once. */
  protected override chunks(): Iterable<Chunk> {
    return chunksOf(this.storedBytes, this.storedBytes);
  }

  protected override write(chunk: Uint8Array): void {
    const { spec } = this.persistent;
    // `chunk.slice()` of a Node Buffer would be a view of its whole pool.
    const stored = new (typedArrayOf(spec.dtype))(new Uint8Array(chunk).buffer);
    this.#data = decode(spec, stored);
    this.#blocks = isQuantized(spec.dtype) ? (stored as Uint8Array) : undefined;
  }

  protected override read(): TypedArray {
    return (this.#blocks ?? encode(this.persistent.spec, this.data)).slice();
  }

  protected override clear(): void {
    this.#data = zeros(this.persistent.spec);
    this.#blocks = undefined;
  }

  protected override free(): void {
    this.#data = undefined;
    this.#blocks = undefined;
  }
}

/** Zeros in decoded form: f16, bf16 and block types are `Float32Array`. @throws {OutOfMemoryError} */
export function zeros({ dtype, shape }: ConcreteSpec): TypedArray {
  const count = elementCount(shape);
  const type = decodedArrayOf(dtype);
  try {
    return new type(count);
  } catch (error) {
    if (error instanceof RangeError) throw new OutOfMemoryError("reference", count * type.BYTES_PER_ELEMENT, undefined, "use less memory");
    throw error;
  }
}
