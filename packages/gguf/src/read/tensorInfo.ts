import { blockLayout, type GgmlType, typeById, withdrawnTypeById } from "@centella/quant";
import { aligned } from "../alignment.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { shown } from "../shown.ts";
import { readName } from "../values.ts";
import type { Cursor } from "./cursor.ts";

/** Name, type, shape and position of a tensor in the file. */
export interface TensorInfo {
  readonly name: string;
  readonly type: GgmlType;
  /**
   * Sizes row-major: the last axis is contiguous. The reverse of ggml's `ne`, so a weight of `in` inputs and `out` outputs is `[out, in]`.
   */
  readonly shape: readonly number[];
  /** Product of `shape`. */
  readonly elements: number;
  /** First byte, counted from the start of the file. */
  readonly offset: number;
  readonly bytes: number;
}

/** Reads `count` tensor infos and checks that each tensor is within the file. */
export async function readTensorInfos(
  cursor: Cursor,
  count: number,
  alignment: number,
): Promise<{ readonly tensors: readonly TensorInfo[]; readonly dataOffset: number }> {
  const fileBytes = cursor.offset + cursor.remaining;
  const relative: TensorInfo[] = [];
  const names = new Set<string>();
  for (let i = 0; i < count; i++) {
    const offset = cursor.offset;
    const info = await readTensorInfo(cursor, i, alignment);
    if (names.has(info.name))
      throw new GgufError("duplicate", { expected: "every tensor once", got: `'${shown(info.name)}' twice`, offset });
    names.add(info.name);
    relative.push(info);
  }
  const dataOffset = aligned(cursor.offset, alignment);
  const tensors = relative.map((info) => ({ ...info, offset: dataOffset + info.offset }));
  for (const { name, offset, bytes } of tensors) {
    if (offset + bytes <= fileBytes) continue;
    throw new GgufError("truncated", {
      expected: `${bytes} bytes of tensor '${shown(name)}'`,
      got: `${Math.max(0, fileBytes - offset)}, the file ends at byte ${fileBytes}`,
      offset,
      hint: "truncated file; download or convert it again",
    });
  }
  return { tensors, dataOffset };
}

/** Reads one info; its offset is still relative to the tensor data. */
async function readTensorInfo(cursor: Cursor, index: number, alignment: number): Promise<TensorInfo> {
  const name = await readName(cursor, limits.tensorNameBytes, `the name of tensor ${index}`);
  const what = `tensor '${shown(name)}'`;
  await cursor.need(4, `the dimensions of ${what}`);
  const rankOffset = cursor.offset;
  const rank = cursor.u32();
  if (rank > limits.dimensions) {
    throw new GgufError("invalid", {
      expected: `at most ${limits.dimensions} dimensions of ${what}`,
      got: String(rank),
      offset: rankOffset,
    });
  }
  await cursor.need(8 * rank + 12, `the dimensions, type and offset of ${what}`);
  const shape = readShape(cursor, rank, what);
  const typeOffset = cursor.offset;
  const type = readType(cursor, what);
  const { blockElements, blockBytes } = blockLayout(type);
  const row = shape.at(-1) ?? 1;
  if (row % blockElements !== 0) {
    throw new GgufError("invalid", {
      expected: `rows of a multiple of ${blockElements} elements in ${what} (${type})`,
      got: String(row),
      offset: typeOffset,
    });
  }
  const elements = shape.reduce((product, size) => product * size, 1);
  const offsetOffset = cursor.offset;
  const offset = Number(cursor.u64());
  if (offset % alignment !== 0) {
    throw new GgufError("invalid", {
      expected: `a multiple of ${alignment} as the offset of ${what}`,
      got: String(offset),
      offset: offsetOffset,
    });
  }
  return { name, type, shape, elements, offset, bytes: (elements / blockElements) * blockBytes };
}

function readShape(cursor: Cursor, rank: number, what: string): number[] {
  const offset = cursor.offset;
  const shape = Array.from({ length: rank }, () => Number(cursor.u64())).reverse();
  // The product of the sizes other than zero bounds every product of some of them, in any order.
  const elements = shape.reduce((product, size) => product * (size || 1), 1);
  if (elements * 8 > Number.MAX_SAFE_INTEGER) {
    throw new GgufError("invalid", { expected: `fewer than 2^50 elements in ${what}`, got: `[${shape.join(", ")}]`, offset });
  }
  return shape;
}

function readType(cursor: Cursor, what: string): GgmlType {
  const offset = cursor.offset;
  const id = cursor.u32();
  const type = typeById(id);
  if (type !== undefined) return type;
  const withdrawn = withdrawnTypeById(id);
  const hint = withdrawn === undefined ? "a newer version of this library may know it" : "ggml has withdrawn it; convert the model again";
  throw new GgufError("unknown-type", {
    expected: `the number of a ggml type for ${what}`,
    got: withdrawn === undefined ? String(id) : `${id} (${withdrawn})`,
    offset,
    hint,
  });
}
