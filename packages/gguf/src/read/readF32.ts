import { blockLayout, dequantize, isDequantizable } from "@centella/quant";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";
import { type ChunkOptions, readChunks, type TensorBytes } from "./tensorData.ts";
import type { TensorInfo } from "./tensorInfo.ts";

/** A tensor dequantised to f32, row-major, without all of its bytes in memory. @throws {GgufError} `unsupported-type` */
export async function readF32(data: TensorBytes, tensor: TensorInfo, options: ChunkOptions): Promise<Float32Array> {
  const { type, name } = tensor;
  if (!isDequantizable(type)) {
    throw new GgufError("unsupported-type", { expected: `tensor '${shown(name)}' in a type that can be dequantised`, got: type });
  }
  const { blockElements, blockBytes } = blockLayout(type);
  const values = new Float32Array(tensor.elements);
  for await (const { offset, bytes } of readChunks(data, tensor, options)) {
    const start = (offset / blockBytes) * blockElements;
    dequantize(type, bytes, values.subarray(start, start + (bytes.length / blockBytes) * blockElements));
  }
  return values;
}
