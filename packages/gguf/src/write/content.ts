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

/** The content of an open file, for {@link writeGguf}; its tensors are read when they are written. */
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
