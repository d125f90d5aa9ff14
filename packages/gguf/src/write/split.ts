import { boolean, check, checkOptions, elementAt, type Kinds, lastOf, object, whole } from "@centella/quant/checks";
import { aligned } from "../alignment.ts";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";
import { splitKeys } from "../splitName.ts";
import { checkContent, checkMetadata } from "./checkContent.ts";
import type { GgufContent, TensorContent } from "./content.ts";
import type { WritableEntry } from "./encode.ts";

/** How a file is split: by one of the two limits. */
export interface SplitOptions {
  /** Maximum number of tensors of a part. Default 128 if `maxBytes` is not given. */
  readonly maxTensors?: number;
  /** Maximum size of the tensors of a part in bytes, without the header. */
  readonly maxBytes?: number;
  /** Put only metadata into the first part, so that a small download is enough to inspect a model. Default false. */
  readonly emptyFirst?: boolean;
}

const mostParts = 65_535;
const isSplitKey = ({ key }: WritableEntry): boolean => Object.values<string>(splitKeys).includes(key);

/**
 * Returns the parts into which llama.cpp's gguf-split splits a file: all metadata in the first part, `split.*` keys in every part. Write
 * part `i` (from 0) to `splitName({ prefix, number: i + 1, count })`.
 * @throws {GgufError} `range` for limits that no split can meet; as `writeGguf` for content that cannot be written
 */
export function splitContent(content: GgufContent, options: SplitOptions = {}): readonly GgufContent[] {
  const kinds: Kinds<SplitOptions> = { maxTensors: whole(1), maxBytes: whole(1), emptyFirst: boolean };
  const { maxBytes, maxTensors, emptyFirst = false } = checkOptions("splitContent", options, kinds);
  if (maxBytes !== undefined && maxTensors !== undefined) throw new GgufError("range", { expected: "maxTensors or maxBytes", got: "both" });
  const limit = maxBytes ?? maxTensors ?? 128;
  const { alignment, tensors } = checkContent("splitContent", content);
  const groups: TensorContent[][] = emptyFirst ? [[], []] : [[]];
  let filled = 0;
  for (const [i, tensor] of content.tensors.entries()) {
    const cost = maxBytes === undefined ? 1 : aligned(elementAt(tensors, i).bytes, alignment);
    if (cost > limit) {
      const expected = `a limit of at least ${cost} bytes, the size of tensor '${shown(tensor.name)}'`;
      throw new GgufError("range", { expected, got: String(limit) });
    }
    if (filled + cost > limit) {
      groups.push([]);
      filled = 0;
    }
    lastOf(groups).push(tensor);
    filled += cost;
  }
  if (groups.length > mostParts) {
    throw new GgufError("range", { expected: `at most ${mostParts} parts`, got: String(groups.length), hint: "choose a larger limit" });
  }
  const metadata = content.metadata.filter((entry) => !isSplitKey(entry));
  const alignmentKey = metadata.filter(({ key }) => key === "general.alignment");
  return groups.map((tensors, number) => ({
    ...content,
    metadata: [
      ...(number === 0 ? metadata : alignmentKey),
      { key: splitKeys.no, type: "u16", value: number },
      { key: splitKeys.tensors, type: "i32", value: content.tensors.length },
      { key: splitKeys.count, type: "u16", value: groups.length },
    ],
    tensors,
  }));
}

/** Returns the content of a split file without the `split.*` keys. Splitting and merging a file gives the same file. */
export function mergedContent(content: GgufContent): GgufContent {
  checkMetadata("mergedContent", "content.metadata", check("mergedContent", "content", content, object).metadata);
  return { ...content, metadata: content.metadata.filter((entry) => !isSplitKey(entry)) };
}
