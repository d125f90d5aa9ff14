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

/** A number of each layer, from an array or from one number for all; 0 where it is missing. @throws {ModelError} for one that is no f32 */
export function readLayerNumbers(file: MetadataReader, name: string): (layer: number) => number {
  const key = file.key(name);
  const isListed = typeof file.metadata.get(key) === "object";
  const listed = isListed ? Array.from(file.metadata.optionalNumbers(key) ?? []) : [];
  const single = isListed ? 0 : (file.number(name) ?? 0);
  const wrong = listed.find((value) => !Number.isFinite(Math.fround(value)));
  if (wrong !== undefined) throw new ModelError(`metadata: expected ${key} to be finite f32, got ${wrong}; convert the model again`);
  return (layer) => listed[layer] ?? single;
}

/** Which layers have a state in place of a cache: those that the file lists, or all but every n-th, by default of `interval`. */
export function readRecurrentLayers(file: MetadataReader, interval: number): (layer: number) => boolean {
  const listed = file.flags("attention.recurrent_layers");
  const period = file.size("full_attention_interval") ?? interval;
  return (layer) => (typeof listed === "object" ? listed[layer] === true : (layer + 1) % period !== 0);
}
