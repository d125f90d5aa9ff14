import { blockLayout, dequantize, type GgmlType } from "@centella/quant";

/** Values of a tensor's stored form. */
export function decodeBlocks(type: GgmlType, bytes: Uint8Array): Float32Array {
  const { blockElements, blockBytes } = blockLayout(type);
  const values = new Float32Array((bytes.length / blockBytes) * blockElements);
  dequantize(type, bytes, values);
  return values;
}
