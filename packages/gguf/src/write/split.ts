import { boolean, check, checkOptions, type Kinds, object, whole } from "@centella/quant/checks";
import { aligned } from "../alignment.ts";
import { GgufError } from "../errors.ts";
import { shown } from "../shown.ts";
import { splitKeys } from "../splitName.ts";
import { checkContent, checkMetadata } from "./checkContent.ts";
import type { GgufContent, TensorContent } from "./content.ts";
import type { WritableEntry } from "./encode.ts";

/** How a file is split: by one of the two limits. */
export interface SplitOptions {
  /** Tensors of a part at most. Default 128 where `maxBytes` is not given. */
  readonly maxTensors?: number;
  /** Bytes of tensors of a part at most; its header comes on top. */
  readonly maxBytes?: number;
  /** The first part then has the metadata alone, so that a model can be looked into by a small download. Default false. */
  readonly emptyFirst?: boolean;
}

const mostParts = 65_535;
const isSplitKey = ({ key }: WritableEntry): boolean => Object.values<string>(splitKeys).includes(key);

/**
 * The parts that llama.cpp's gguf-split makes of a file: all metadata in the first, `split.*` keys in each. Write part `i` (from 0) to
 * `splitName({ prefix, number: i + 1, count })`.
 * @throws {GgufError} `range` for limits that no split can keep; as `writeGguf` for a content that cannot be written
 */
export function splitContent(content: GgufContent, options: SplitOptions = {}): readonly GgufContent[] {
  const kinds: Kinds<SplitOptions> = { maxTensors: whole(1), maxBytes: whole(1), emptyFirst: boolean };
  const {
    maxBytes,
    maxTensors = maxBytes === undefined ? 128 : undefined,
    emptyFirst = false,
  } = checkOptions("splitContent", options, kinds);
  if (maxBytes !== undefined && maxTensors !== undefined) throw new GgufError("range", { expected: "maxTensors or maxBytes", got: "both" });
  const limit = (maxBytes ?? maxTensors)!;
  const { alignment, tensors } = checkContent("splitContent", content);
  const groups: TensorContent[][] = emptyFirst ? [[], []] : [[]];
  let filled = 0;
  for (const [i, tensor] of content.tensors.entries()) {
    const cost = maxBytes === undefined ? 1 : aligned(tensors[i]!.bytes, alignment);
    if (cost > limit) {
      const expected = `a limit of at least ${cost} bytes, the size of tensor '${shown(tensor.name)}'`;
      throw new GgufError("range", { expected, got: String(limit) });
    }
    if (filled + cost > limit) {
      groups.push([]);
      filled = 0;
    }
    groups.at(-1)!.push(tensor);
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

/** The content of a split file as one: without the `split.*` keys, so that a file split and merged is the file that it was. */
export function mergedContent(content: GgufContent): GgufContent {
  checkMetadata("mergedContent", "content.metadata", check("mergedContent", "content", content, object).metadata);
  return { ...content, metadata: content.metadata.filter((entry) => !isSplitKey(entry)) };
}
