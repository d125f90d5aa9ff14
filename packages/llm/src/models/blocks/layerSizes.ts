import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { HeadSizes } from "../../load/modelShape.ts";

/** Heads of each layer as the file lists them, all of one size. Layers without heads of their own have one. @throws {ModelError} */
export function readLayerHeads(file: MetadataReader): (layer: number) => HeadSizes {
  const [heads, kvHeads] = [file.sizes("attention.head_count"), file.sizes("attention.head_count_kv")];
  const layers = Array.from({ length: file.requiredBlocks() }, (_, layer) => layer);
  const first = layers.map(heads).find((count) => count !== undefined) ?? file.requiredSize("attention.head_count");
  const size = file.requiredSize("embedding_length") / first;
  const [keyLength, valueLength] = [file.size("attention.key_length") ?? size, file.size("attention.value_length") ?? size];
  for (const layer of layers) {
    const [own = 1, kv = own] = [heads(layer), kvHeads(layer)];
    if (own % kv !== 0 || !Number.isInteger(keyLength) || !Number.isInteger(valueLength))
      throw new ModelError(
        `metadata: expected heads of whole sizes, and in layer ${layer} ${file.key("attention.head_count")} to be a multiple of attention.head_count_kv, got ${own} and ${kv}; convert the model again`,
      );
  }
  return (layer) => {
    const own = heads(layer) ?? 1;
    return { heads: own, kvHeads: kvHeads(layer) ?? own, keyLength, valueLength };
  };
}
