import { blockLayout, type GgmlType, rowBytes, tensorBytes } from "@centella/quant";
import { aligned, alignmentOf } from "./alignment.ts";
import type { ByteOrder } from "./byteOrder.ts";
import { encodeHeader, type WritableEntry } from "./encode.ts";
import { GgufError } from "./errors.ts";
import type { GgufFile } from "./file.ts";
import { shown } from "./shown.ts";
import { swapTensorBytes } from "./swapTensorBytes.ts";

/** Takes bytes one after the other; resolves when it can take more. A `WritableStreamDefaultWriter` is one. */
export interface ByteSink {
  /** The bytes are the sink's until the promise resolves. */
  write(bytes: Uint8Array): Promise<void>;
}

/** A tensor to write. */
export interface TensorContent {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major, as in `TensorInfo`. */
  readonly shape: readonly number[];
  /** Its bytes, numbers little-endian: in memory, or read piece by piece and in order when they are needed. */
  readonly data: Uint8Array | { read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> };
}

/** What a file is to hold. */
export interface GgufContent {
  /** In this order. `general.alignment` is followed. */
  readonly metadata: readonly WritableEntry[];
  readonly tensors: readonly TensorContent[];
  /** Default 3. */
  readonly version?: 2 | 3;
  /** Default "little". */
  readonly byteOrder?: ByteOrder;
}

export interface WriteOptions {
  /** Largest piece of a tensor in memory; rounded down to whole rows, or to whole blocks of longer ones, at least one. Default 4 MiB. */
  readonly chunkBytes?: number;
  readonly signal?: AbortSignal;
  /** Called with the bytes written so far and in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** The content of an open file, for {@link writeGguf}; its tensors are read when they are written. */
export function contentOf(file: GgufFile): Required<GgufContent> {
  return {
    version: file.version === 2 ? 2 : 3,
    byteOrder: file.byteOrder,
    metadata: [...file.metadata],
    tensors: file.tensors.map((tensor) => ({
      name: tensor.name,
      type: tensor.type,
      shape: tensor.shape,
      data: { read: (offset, length, signal) => file.readTensor(tensor, { offset, length, ...(signal && { signal }) }) },
    })),
  };
}

/**
 * Writes a GGUF file from front to back, with no more of a tensor in memory than `chunkBytes`. As ggml does, tensors begin at multiples of
 * the alignment and the last is padded to one. Gives the bytes of the file.
 * @throws {GgufError} `invalid` if a value does not fit its type or a tensor's bytes its shape; `duplicate`
 */
export async function writeGguf(sink: ByteSink, content: GgufContent, options: WriteOptions = {}): Promise<number> {
  const { chunkBytes = 2 ** 22, signal, onProgress } = options;
  const { version = 3, byteOrder = "little", metadata } = content;
  if (!(chunkBytes > 0)) throw new GgufError("range", { expected: "chunkBytes > 0", got: String(chunkBytes) });
  checkNames(content);
  const alignment = alignmentOf(metadata.find(({ key }) => key === "general.alignment"));
  const { tensors, dataBytes } = layOut(content.tensors, alignment);
  const header = encodeHeader({ version, byteOrder, metadata, tensors });
  // As gguf-py does, a file without tensors ends with its header.
  const dataOffset = tensors.length === 0 ? header.length : aligned(header.length, alignment);
  const total = dataOffset + dataBytes;
  let done = 0;
  const put = async (bytes: Uint8Array): Promise<void> => {
    signal?.throwIfAborted();
    if (bytes.length === 0) return;
    await sink.write(bytes);
    done += bytes.length;
    onProgress?.(done, total);
  };
  await put(header);
  await put(new Uint8Array(dataOffset - header.length));
  for (const { name, type, shape, bytes, data } of tensors) {
    const row = rowBytes(type, shape.at(-1) ?? 1);
    const unit = row > 0 && row <= chunkBytes ? row : blockLayout(type).blockBytes;
    const step = Math.max(1, Math.floor(chunkBytes / unit)) * unit;
    for (let offset = 0; offset < bytes; offset += step) {
      const length = Math.min(step, bytes - offset);
      const piece = data instanceof Uint8Array ? data.subarray(offset, offset + length) : await data.read(offset, length, signal);
      if (piece.length !== length) throw wrongLength(name, bytes, offset + piece.length);
      await put(byteOrder === "little" ? piece : swapped(type, name, piece));
    }
    await put(new Uint8Array(aligned(bytes, alignment) - bytes));
  }
  return total;
}

function swapped(type: GgmlType, name: string, bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes);
  swapTensorBytes(type, name, copy);
  return copy;
}

function layOut(
  tensors: readonly TensorContent[],
  alignment: number,
): { readonly tensors: readonly (TensorContent & { readonly offset: number; readonly bytes: number })[]; readonly dataBytes: number } {
  let offset = 0;
  const placed = tensors.map((tensor) => {
    const bytes = tensorBytes(tensor.type, tensor.shape);
    if (tensor.data instanceof Uint8Array && tensor.data.length !== bytes) throw wrongLength(tensor.name, bytes, tensor.data.length);
    const start = offset;
    offset = aligned(offset + bytes, alignment);
    return { ...tensor, offset: start, bytes };
  });
  return { tensors: placed, dataBytes: offset };
}

function wrongLength(name: string, expected: number, got: number): GgufError {
  return new GgufError("invalid", { expected: `${expected} bytes of tensor '${shown(name)}' by its type and shape`, got: String(got) });
}

function checkNames({ metadata, tensors }: GgufContent): void {
  for (const [what, names] of [
    ["key", metadata.map(({ key }) => key)],
    ["tensor", tensors.map(({ name }) => name)],
  ] as const) {
    const seen = new Set<string>();
    for (const name of names) {
      if (name === "") throw new GgufError("invalid", { expected: `the name of every ${what}`, got: "an empty one" });
      if (seen.has(name)) throw new GgufError("duplicate", { expected: `every ${what} once`, got: `'${shown(name)}' twice` });
      seen.add(name);
    }
  }
}
