import type { ByteSource } from "@centella/gguf";
import { modelHeader } from "./generate.ts";
import type { ModelShape } from "./shapes.ts";
import type { FileType } from "./tensors.ts";

// Norms and factors may not be 0.
const weight = 0x3f;
const weights = new Uint8Array(2 ** 24).fill(weight);

/** Returns a GGUF file of a model's size in which all bytes of the weights are the same. It takes no memory, for measurements of the host. */
export function emptyModel(name: string, shape: ModelShape, type: FileType): ByteSource {
  const { header, total } = modelHeader(name, shape, type);
  return {
    size: total,
    async read(offset, length) {
      if (offset >= header.length && length <= weights.length) return weights.subarray(0, length);
      const bytes = new Uint8Array(length).fill(weight);
      bytes.set(header.subarray(offset, offset + length));
      return bytes;
    },
  };
}
