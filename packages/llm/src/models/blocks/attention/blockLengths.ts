import { UnsupportedError } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";

/**
 * Returns the tokens of a block in each layer, which the file calls compression ratios; 0: the layer has no blocks. `computed` says which lengths
 * `isComputed` accepts. @throws {UnsupportedError} for another length
 */
export function readBlockLengths(
  file: MetadataReader,
  isComputed: (length: number) => boolean,
  computed: string,
): (layer: number) => number {
  const key = file.key("attention.compress_ratios");
  const lengths = Array.from(file.metadata.optionalNumbers(key) ?? []);
  const wrong = lengths.find((length) => !isComputed(length));
  if (wrong !== undefined) throw new UnsupportedError(`${key} = ${wrong}`, computed);
  return (layer) => lengths[layer] ?? 0;
}
