import { abortSignal, boolean, callback, check, checkOptions, either, type Kinds, string } from "@centella/quant/checks";
import type { ByteOrder } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { modelStorage, tensorInfo } from "../kinds.ts";
import { shown } from "../shown.ts";
import type { ByteSource, GgufInput } from "../source/byteSource.ts";
import type { LocateOptions } from "../source/locateOptions.ts";
import type { Metadata } from "./metadata.ts";
import type { OpenedParts } from "./part.ts";
import { openParts } from "./parts.ts";
import { type ChunkOptions, type ReadOptions, readChunks, readRange, readRangeInto, type TensorChunk } from "./tensorData.ts";
import type { TensorInfo } from "./tensorInfo.ts";

const locateKinds: Kinds<LocateOptions> = { signal: abortSignal, cache: either(boolean, modelStorage), onDownload: callback };

/**
 * An open GGUF file: its header in memory, its tensors read on demand. Close it, or declare it with `await using`, to give a path's file
 * handle back.
 */
export class GgufFile implements AsyncDisposable {
  /** 2 or 3. */
  readonly version: number;
  readonly metadata: Metadata;
  /** In the order of the file. */
  readonly tensors: readonly TensorInfo[];
  /** Tensors begin at multiples of this many bytes. */
  readonly alignment: number;
  /** Byte at which the tensor data begins; in the first part, if there are several. */
  readonly dataOffset: number;
  /** Byte order of the file. Everything that is read through this class is little-endian. */
  readonly byteOrder: ByteOrder;
  /** Number of files: 1, or the number of parts of a split file. */
  readonly parts: number;
  /** Warnings about how the file is read, such as the reason why it could not be stored. */
  readonly warnings: readonly string[];
  /** Bytes of the file; those of all parts follow one another. Can be read until the file is closed. */
  readonly source: ByteSource;
  readonly #byName: ReadonlyMap<string, TensorInfo>;

  /** Use {@link readGguf}. */
  constructor({ source, header, parts, warnings }: OpenedParts) {
    this.source = source;
    this.parts = parts;
    this.warnings = warnings;
    this.byteOrder = header.byteOrder;
    this.version = header.version;
    this.metadata = header.metadata;
    this.tensors = header.tensors;
    this.alignment = header.alignment;
    this.dataOffset = header.dataOffset;
    this.#byName = new Map(header.tensors.map((tensor) => [tensor.name, tensor]));
  }

  hasTensor(name: string): boolean {
    return this.#byName.has(name);
  }

  /** @throws {GgufError} `missing` */
  tensor(name: string): TensorInfo {
    check("tensor", "name", name, string);
    const tensor = this.#byName.get(name);
    if (tensor !== undefined) return tensor;
    throw new GgufError("missing", { expected: `a tensor '${shown(name)}'`, got: `none among ${this.tensors.length}` });
  }

  /** The tensor, or undefined. */
  optionalTensor(name: string): TensorInfo | undefined {
    return this.#byName.get(name);
  }

  /**
   * Bytes of a tensor, all or a range, numbers in them little-endian. They may be shared with the source: do not write to them.
   * @throws {GgufError} `missing`, `range`; `unsupported-type` for a few block types of big-endian files
   */
  async readTensor(tensor: string | TensorInfo, options: ReadOptions = {}): Promise<Uint8Array> {
    return readRange(this, this.#resolve(tensor), options);
  }

  /**
   * Fills `target` with the bytes of a tensor from `offset` (default 0), as {@link readTensor} returns them. A source that has `readInto`
   * writes them there itself.
   * @throws {GgufError} as {@link readTensor}
   */
  async readTensorInto(tensor: string | TensorInfo, target: Uint8Array, options: Omit<ReadOptions, "length"> = {}): Promise<void> {
    await readRangeInto(this, this.#resolve(tensor), target, options);
  }

  /** Bytes of a tensor in order, in chunks of whole blocks. @throws {GgufError} `missing` */
  readTensorChunks(tensor: string | TensorInfo, options: ChunkOptions = {}): AsyncGenerator<TensorChunk, void, undefined> {
    return readChunks(this, this.#resolve(tensor), options);
  }

  /** A tensor dequantised to f32, row-major. @throws {GgufError} `missing`, or `unsupported-type` for integers and codebook formats */
  async readTensorF32(tensor: string | TensorInfo, options: ChunkOptions = {}): Promise<Float32Array> {
    const { readF32 } = await import("./readF32.ts");
    return readF32(this, this.#resolve(tensor), options);
  }

  /** Closes the source. Reads after that fail; the header stays. */
  async close(): Promise<void> {
    await this.source.close?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #resolve(tensor: string | TensorInfo): TensorInfo {
    return typeof tensor === "string" ? this.tensor(tensor) : check("readTensor", "tensor", tensor, tensorInfo);
  }
}

/**
 * Opens a GGUF file (version 2 or 3, of either byte order) and reads its header: the metadata and the table of tensors, not their data.
 * Every length in the header is checked against the file before memory is allocated, and every tensor must be within the file.
 *
 * Open a split file (`…-00001-of-00003.gguf`) by the path or URL of its first part, with the remaining parts in the same folder, or by a
 * list of all parts. A model on a hub (`hf:owner/repo:Q4_K_M`) is downloaded first, unless it is stored.
 * @throws {GgufError} with the byte offset, the expected and the actual content; the signal's reason if it is aborted
 */
export async function readGguf(input: GgufInput | readonly GgufInput[], options: LocateOptions = {}): Promise<GgufFile> {
  checkOptions("readGguf", options, locateKinds);
  options.signal?.throwIfAborted();
  return new GgufFile(await openParts(input, options));
}
