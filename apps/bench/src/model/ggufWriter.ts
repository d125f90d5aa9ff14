import { type GgmlType, ggmlTypes, tensorBytes } from "@centella/quant";

/** A metadata value with its type in the file. */
export type GgufValue =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly string: string }
  | { readonly strings: readonly string[] }
  | { readonly i32s: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major. */
  readonly shape: readonly number[];
}

/** Tensor data starts at multiples of this. */
export const alignment = 32;

const typeIds = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;

/**
 * Head of a GGUF file (version 3), up to the tensors' data and padded to the alignment. The data follow in the same order, each tensor
 * padded by {@link padding}. Source: `docs/gguf.md` of ggml.
 */
export function ggufHeader(metadata: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Uint8Array {
  const bytes = new Bytes();
  bytes.raw(new TextEncoder().encode("GGUF"));
  bytes.u32(3);
  bytes.u64(tensors.length);
  bytes.u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    bytes.string(key);
    writeValue(bytes, value);
  }
  let offset = 0;
  for (const { name, type, shape } of tensors) {
    bytes.string(name);
    bytes.u32(shape.length);
    for (const extent of shape.toReversed()) bytes.u64(extent);
    bytes.u32(ggmlTypes[type].id);
    bytes.u64(offset);
    const size = tensorBytes(type, shape);
    offset += size + padding(size);
  }
  bytes.raw(new Uint8Array(padding(bytes.length)));
  return bytes.done();
}

/** Zero bytes that follow `length` bytes of data. */
export function padding(length: number): number {
  return (alignment - (length % alignment)) % alignment;
}

function writeValue(bytes: Bytes, value: GgufValue): void {
  if ("u32" in value) {
    bytes.u32(typeIds.u32);
    bytes.u32(value.u32);
  } else if ("f32" in value) {
    bytes.u32(typeIds.f32);
    bytes.raw(new Uint8Array(Float32Array.of(value.f32).buffer));
  } else if ("bool" in value) {
    bytes.u32(typeIds.bool);
    bytes.raw(Uint8Array.of(value.bool ? 1 : 0));
  } else if ("string" in value) {
    bytes.u32(typeIds.string);
    bytes.string(value.string);
  } else if ("strings" in value) {
    bytes.u32(typeIds.array);
    bytes.u32(typeIds.string);
    bytes.u64(value.strings.length);
    for (const text of value.strings) bytes.string(text);
  } else {
    bytes.u32(typeIds.array);
    bytes.u32(typeIds.i32);
    bytes.u64(value.i32s.length);
    bytes.raw(new Uint8Array(Int32Array.from(value.i32s).buffer));
  }
}

/** Growing buffer of little-endian bytes. */
class Bytes {
  #bytes = new Uint8Array(2 ** 16);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  raw(more: Uint8Array): void {
    while (this.#length + more.length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(more, this.#length);
    this.#length += more.length;
  }

  u32(value: number): void {
    this.raw(new Uint8Array(Uint32Array.of(value).buffer));
  }

  u64(value: number): void {
    this.raw(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  }

  string(text: string): void {
    const encoded = new TextEncoder().encode(text);
    this.u64(encoded.length);
    this.raw(encoded);
  }

  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}
