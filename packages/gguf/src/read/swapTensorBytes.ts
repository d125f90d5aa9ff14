import { blockLayout, type GgmlType, isBlockType } from "@centella/quant";
import { swapBytes } from "../byteOrder.ts";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";

/**
 * Byte offsets of the 16-bit fields in a block; the rest of a block is single bytes. Source: the structs of ggml-common.h. llama.cpp's
 * gguf_convert_endian.py swaps the first four types; the remaining types store their scales in the same kind of fields.
 *
 * Types with integers that ggml copies out of byte arrays are absent (`qh` of q5_0 and q5_1, the indices of iq1 to iq3), because their order
 * in a big-endian file depends on the program that wrote it. q8_1 and q8_K are absent because files do not have them.
 */
const halfFields: Readonly<Partial<Record<GgmlType, readonly number[]>>> = {
  q4_0: [0],
  q8_0: [0],
  q4_K: [0, 2],
  q6_K: [208],
  q4_1: [0, 2],
  q2_K: [80, 82],
  q3_K: [108],
  q5_K: [0, 2],
  iq4_nl: [0],
  iq4_xs: [0, 2],
  tq1_0: [52],
  tq2_0: [64],
  mxfp4: [],
  nvfp4: [],
  q1_0: [0],
  q2_0: [0],
};

/**
 * Turns whole blocks of a tensor from one byte order into the other, in place.
 * @throws {GgufError} `unsupported-type` where the order of a block type's parts is not settled
 */
export function swapTensorBytes(type: GgmlType, name: string, bytes: Uint8Array): void {
  const { blockBytes } = blockLayout(type);
  if (!isBlockType(type)) {
    swapBytes(bytes, blockBytes);
    return;
  }
  const fields = halfFields[type];
  if (fields === undefined) {
    throw new GgufError("unsupported-type", {
      expected: `tensor '${shown(name)}' of a big-endian file in a type whose byte order is settled`,
      got: type,
      hint: `quantise the model again on a little-endian machine, or to one of ${Object.keys(halfFields).join(", ")}`,
    });
  }
  for (let block = 0; block < bytes.length; block += blockBytes) {
    for (const field of fields) swapBytes(bytes.subarray(block + field, block + field + 2), 2);
  }
}
