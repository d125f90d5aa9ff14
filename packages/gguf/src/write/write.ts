import { blockLayout, type GgmlType, rowBytes } from "@centella/quant";
import {
  abortSignal,
  boolean,
  byteArray,
  callback,
  check,
  checkOptions,
  either,
  type Kinds,
  kind,
  nonEmptyString,
  whole,
} from "@centella/quant/checks";
import { aligned } from "../alignment.ts";
import { shown } from "../shown.ts";
import { isPlace } from "../source/source.ts";
import type { ByteSink } from "./byteSink.ts";
import { checkContent, type PlacedTensor, wrongLength } from "./checkContent.ts";
import type { GgufContent } from "./content.ts";
import { encodeHeader } from "./encode.ts";
import { type WholeFileOptions, writeWholeFile } from "./wholeFile.ts";

/** Options of {@link writeGguf}. `overwrite` applies to paths. */
export interface WriteOptions extends WholeFileOptions {
  /** Largest piece of a tensor in memory, in bytes: rounded down to whole rows, or to whole blocks if a row is longer. Default 4 MiB. */
  readonly chunkBytes?: number;
  readonly signal?: AbortSignal;
  /** Called with the bytes written so far and in total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Target of a file to write: a path or `file:` URL (Node), or a sink of bytes. */
export type WriteTarget = string | URL | ByteSink;

const writeKinds: Kinds<WriteOptions> = { chunkBytes: whole(1), signal: abortSignal, onProgress: callback, overwrite: boolean };
const sink = kind("an object with write()", (value) => typeof (value as Partial<ByteSink> | null)?.write === "function");
const url = kind("a URL", (value) => value instanceof URL);
const writeTarget = either(kind("a path", nonEmptyString.accepts), either(url, sink));

/**
 * Writes a GGUF file from front to back, with at most `chunkBytes` of a tensor in memory. As in ggml, tensors begin at multiples of the
 * alignment, and the last tensor is padded. Resolves to the size of the file in bytes.
 *
 * The content is checked before anything is written. A file at a path gets its name only when it is complete (see `writeWholeFile`).
 * @throws {ArgumentError} for arguments of the wrong types; {GgufError} `invalid` if a value does not fit its type or the bytes of a tensor
 * do not fit its shape, `duplicate`, `limit`, `exists` if the file exists and `overwrite` is not set, `io` if it cannot be written
 */
export async function writeGguf(target: WriteTarget, content: GgufContent, options: WriteOptions = {}): Promise<number> {
  check("writeGguf", "target", target, writeTarget);
  checkOptions("writeGguf", options, writeKinds);
  const write = writerOf(content, options);
  return isPlace(target) ? writeWholeFile(target, write, { overwrite: options.overwrite ?? false }) : write(target);
}

/** Checks the content and returns a function that writes it. */
function writerOf(content: GgufContent, { chunkBytes = 2 ** 22, signal, onProgress }: WriteOptions): (sink: ByteSink) => Promise<number> {
  const { alignment, tensors, dataBytes } = checkContent("writeGguf", content);
  const { version = 3, byteOrder = "little", metadata } = content;
  const header = encodeHeader({ version, byteOrder, metadata, tensors });
  // As gguf-py does, a file without tensors ends with its header.
  const dataOffset = tensors.length === 0 ? header.length : aligned(header.length, alignment);
  const total = dataOffset + dataBytes;
  return async (sink) => {
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
    for (const tensor of tensors) {
      for await (const piece of piecesOf(tensor, chunkBytes, signal)) {
        await put(byteOrder === "little" ? piece : await swapped(tensor.type, tensor.name, piece));
      }
      await put(new Uint8Array(aligned(tensor.bytes, alignment) - tensor.bytes));
    }
    return total;
  };
}

/** Yields the bytes of a tensor in pieces of at most `chunkBytes`. */
async function* piecesOf(
  { name, type, shape, data, bytes }: PlacedTensor,
  chunkBytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const row = rowBytes(type, shape.at(-1) ?? 1);
  const unit = row > 0 && row <= chunkBytes ? row : blockLayout(type).blockBytes;
  const step = Math.max(1, Math.floor(chunkBytes / unit)) * unit;
  for (let offset = 0; offset < bytes; offset += step) {
    const length = Math.min(step, bytes - offset);
    const piece = data instanceof Uint8Array ? data.subarray(offset, offset + length) : await data.read(offset, length, signal);
    check("writeGguf", `what the data of tensor '${shown(name)}' reads`, piece, byteArray);
    if (piece.length !== length) throw wrongLength(name, bytes, offset + piece.length);
    yield piece;
  }
}

async function swapped(type: GgmlType, name: string, bytes: Uint8Array): Promise<Uint8Array> {
  const { swapTensorBytes } = await import("../read/swapTensorBytes.ts");
  const copy = new Uint8Array(bytes);
  swapTensorBytes(type, name, copy);
  return copy;
}
