import { blockLayout, dequantize, isDequantizable } from "@centella/quant";
import { GgufError } from "./errors.ts";
import { shown } from "./shown.ts";
import type { ByteSource } from "./source.ts";
import type { TensorInfo } from "./tensorInfo.ts";

/** A run of whole blocks of a tensor. */
export interface TensorChunk {
  /** First byte within the tensor. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Range of a tensor's bytes. Defaults: from the start, to the end. */
export interface ReadOptions {
  readonly offset?: number;
  readonly length?: number;
  readonly signal?: AbortSignal;
}

export interface ChunkOptions {
  /** Largest chunk; rounded down to whole blocks, at least one. Default 4 MiB. */
  readonly chunkBytes?: number;
  readonly signal?: AbortSignal;
}

/** Bytes `offset … offset + length - 1` of a tensor. @throws {GgufError} `range` if they are not all in it */
export async function readRange(source: ByteSource, tensor: TensorInfo, options: ReadOptions): Promise<Uint8Array> {
  const { offset = 0, length = tensor.bytes - offset, signal } = options;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0 || offset + length > tensor.bytes) {
    const expected = `a range within the ${tensor.bytes} bytes of tensor '${shown(tensor.name)}'`;
    throw new GgufError("range", { expected, got: `${length} bytes from its byte ${offset}` });
  }
  return source.read(tensor.offset + offset, length, signal);
}

/** All bytes of a tensor in order, in chunks of whole blocks. */
export async function* readChunks(
  source: ByteSource,
  tensor: TensorInfo,
  options: ChunkOptions,
): AsyncGenerator<TensorChunk, void, undefined> {
  const { chunkBytes = 2 ** 22, signal } = options;
  if (!(chunkBytes > 0)) throw new GgufError("range", { expected: "chunkBytes > 0", got: String(chunkBytes) });
  const { blockBytes } = blockLayout(tensor.type);
  const step = Math.max(1, Math.floor(chunkBytes / blockBytes)) * blockBytes;
  for (let offset = 0; offset < tensor.bytes; offset += step) {
    const bytes = await source.read(tensor.offset + offset, Math.min(step, tensor.bytes - offset), signal);
    yield { offset, bytes };
  }
}

/** A tensor dequantised to f32, row-major, without all of its bytes in memory. @throws {GgufError} `unsupported-type` */
export async function readF32(source: ByteSource, tensor: TensorInfo, options: ChunkOptions): Promise<Float32Array> {
  const { type, name } = tensor;
  if (!isDequantizable(type)) {
    throw new GgufError("unsupported-type", { expected: `tensor '${shown(name)}' in a type that can be dequantised`, got: type });
  }
  const { blockElements, blockBytes } = blockLayout(type);
  const values = new Float32Array(tensor.elements);
  for await (const { offset, bytes } of readChunks(source, tensor, options)) {
    const start = (offset / blockBytes) * blockElements;
    dequantize(type, bytes, values.subarray(start, start + (bytes.length / blockBytes) * blockElements));
  }
  return values;
}
