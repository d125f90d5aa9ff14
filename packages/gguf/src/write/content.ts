import type { GgmlType } from "@centella/quant";
import { check } from "@centella/quant/checks";
import type { ByteOrder } from "../byteOrder.ts";
import { ggufFile } from "../kinds.ts";
import type { GgufFile } from "../read/file.ts";
import type { WritableEntry } from "./encode.ts";

/** A tensor to write. */
export interface TensorContent {
  readonly name: string;
  readonly type: GgmlType;
  /** Row-major, as in `TensorInfo`. */
  readonly shape: readonly number[];
  /** Bytes of the tensor with little-endian numbers: in memory, or read in order, piece by piece, while they are written. */
  readonly data: Uint8Array | { read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> };
}

/** Content of a file to write. */
export interface GgufContent {
  /** Entries in file order. `general.alignment` sets the alignment. */
  readonly metadata: readonly WritableEntry[];
  readonly tensors: readonly TensorContent[];
  /** Default 3. */
  readonly version?: 2 | 3;
  /** Default "little". */
  readonly byteOrder?: ByteOrder;
}

/** Returns the content of an open file, for {@link writeGguf}. Its tensors are read while they are written. */
export function contentOf(file: GgufFile): Required<GgufContent> {
  check("contentOf", "file", file, ggufFile);
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
