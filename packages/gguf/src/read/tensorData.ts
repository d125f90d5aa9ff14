import { blockLayout } from "@centella/quant";
import { abortSignal, byteArray, check, checkOptions, type Kinds, number, whole } from "@centella/quant/checks";
import type { ByteOrder } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";
import type { ByteSource } from "../source/byteSource.ts";
import type { TensorInfo } from "./tensorInfo.ts";

/** A run of whole blocks of a tensor. */
export interface TensorChunk {
  /** First byte within the tensor. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Where tensors are read from. */
export interface TensorBytes {
  readonly source: ByteSource;
  readonly byteOrder: ByteOrder;
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

const readKinds: Kinds<ReadOptions> = { offset: number, length: number, signal: abortSignal };
const chunkKinds: Kinds<ChunkOptions> = { chunkBytes: whole(1), signal: abortSignal };

/** Bytes `offset … offset + length - 1` of a tensor. @throws {GgufError} `range` if they are not all in it */
export async function readRange(data: TensorBytes, tensor: TensorInfo, options: ReadOptions): Promise<Uint8Array> {
  const { offset = 0, length = tensor.bytes - offset, signal } = checkOptions("readTensor", options, readKinds);
  requireInTensor(tensor, offset, length);
  if (data.byteOrder === "little") return data.source.read(tensor.offset + offset, length, signal);
  const { blockBytes } = blockLayout(tensor.type);
  const start = Math.floor(offset / blockBytes) * blockBytes;
  const end = Math.ceil((offset + length) / blockBytes) * blockBytes;
  const blocks = new Uint8Array(await data.source.read(tensor.offset + start, end - start, signal));
  // Hardly any file is written the other way round.
  const { swapTensorBytes } = await import("./swapTensorBytes.ts");
  swapTensorBytes(tensor.type, tensor.name, blocks);
  return blocks.subarray(offset - start, offset - start + length);
}

/** The same, written to `target`, by the source itself where it can. */
export async function readRangeInto(
  data: TensorBytes,
  tensor: TensorInfo,
  target: Uint8Array,
  options: Omit<ReadOptions, "length">,
): Promise<void> {
  const { offset = 0, signal } = checkOptions("readTensorInto", options, readKinds);
  const { length } = check("readTensorInto", "target", target, byteArray);
  if (data.byteOrder === "little" && data.source.readInto !== undefined) {
    requireInTensor(tensor, offset, length);
    await data.source.readInto(target, tensor.offset + offset, signal);
  } else target.set(await readRange(data, tensor, { ...options, length }));
}

/** @throws {GgufError} `range` */
function requireInTensor({ name, bytes }: TensorInfo, offset: number, length: number): void {
  if (Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0 && offset + length <= bytes) return;
  const expected = `a range within the ${bytes} bytes of tensor '${shown(name)}'`;
  throw new GgufError("range", { expected, got: `${length} bytes from its byte ${offset}` });
}

/** All bytes of a tensor in order, in chunks of whole blocks. */
export async function* readChunks(
  data: TensorBytes,
  tensor: TensorInfo,
  options: ChunkOptions,
): AsyncGenerator<TensorChunk, void, undefined> {
  const { chunkBytes = 2 ** 22, signal } = checkOptions("readTensorChunks", options, chunkKinds);
  const { blockBytes } = blockLayout(tensor.type);
  const step = Math.max(1, Math.floor(chunkBytes / blockBytes)) * blockBytes;
  for (let offset = 0; offset < tensor.bytes; offset += step) {
    const length = Math.min(step, tensor.bytes - offset);
    const bytes = await readRange(data, tensor, { offset, length, ...(signal && { signal }) });
    yield { offset, bytes };
  }
}
