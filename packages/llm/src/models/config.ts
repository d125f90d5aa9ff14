import { UnsupportedError } from "@centella/core";
import { ModelError } from "../errors.ts";
import type { MetadataReader } from "../load/metadataReader.ts";
import { attendsAhead, type DiffusionShape, type HeadSizes, type ModelShape } from "../load/modelShape.ts";

/** Hyperparameters of one model that its blocks share. Those of a single block are read by the block's own module. */
export interface ModelConfig extends ModelShape, HeadSizes {
  readonly architecture: string;
  readonly feedForwardLength: number;
  /** Root-mean-square norms, or mean-centred ones with biases. */
  readonly norm: "rms" | "layer";
  /** Epsilon of the norms. */
  readonly epsilon: number;
  /** Blocks after the last layer that predict further tokens (NextN, MTP). They take no part in the logits. */
  readonly nextnBlocks: number;
  /** Elements that are kept of each token's state for the first of these blocks. Default: `embeddingLength`. */
  readonly keptLength?: number;
}

export interface ConfigOptions {
  /** Default "rms". */
  readonly norm?: "rms" | "layer" | undefined;
  /** The kind of norms under whose key the file has the epsilon. Default: `norm`. */
  readonly epsilonOf?: "rms" | "layer";
  /** Whether tokens see those after them, as in BERT: the model embeds texts. */
  readonly isEncoder?: boolean;
  /** See {@link ModelShape.diffusion}. */
  readonly diffusion?: DiffusionShape | undefined;
  /** Width of the feed-forward layers. Default: what the file says of all layers. */
  readonly feedForwardLength?: number;
  /** Heads of each layer, in families whose layers differ. By default the file's sizes hold for all. */
  readonly headsOf?: (layer: number) => HeadSizes;
  /** Whether layers to which the file gives no key-value heads have a recurrent state instead of a cache. */
  readonly isHybrid?: boolean;
}

/**
 * Reads the keys that all models with attention have, with llama.cpp's defaults. 0 counts as "not set", as llama.cpp's own files use it.
 * Required keys that the caller has read before are reported together with these.
 * @throws {ModelError} naming every missing key at once; {UnsupportedError} for metadata that this version does not compute
 */
export function readConfig(file: MetadataReader, options: ConfigOptions = {}): ModelConfig {
  const { norm = "rms", isEncoder = false, isHybrid = false, diffusion } = options;
  const contextLength = file.requiredTokens("context_length");
  const embeddingLength = file.requiredSize("embedding_length");
  const { layers, nextnBlocks } = readBlocks(file);
  const feedForwardLength = options.feedForwardLength ?? file.requiredWidth("feed_forward_length");
  const heads = options.headsOf?.(0).heads ?? file.layerSize("attention.head_count").value ?? file.requiredSize("attention.head_count");
  const epsilon = readEpsilon(file, options.epsilonOf ?? norm);
  file.finish();
  if (file.bool("attention.causal") === false && !attendsAhead({ isEncoder, diffusion })) {
    throw new UnsupportedError(
      `${file.key("attention.causal")} = false`,
      "a model that looks ahead cannot generate text, and embeddings of this family are not computed that way",
    );
  }
  const { has, ...sizes } = options.headsOf
    ? { has: () => true, ...options.headsOf(0) }
    : readHeads(file, heads, embeddingLength, isHybrid);
  const { architecture } = file;
  return {
    architecture,
    vocabSize: readVocabSize(file),
    contextLength,
    embeddingLength,
    layers,
    feedForwardLength,
    ...sizes,
    headsOf: options.headsOf ?? (() => sizes),
    norm,
    epsilon,
    nextnBlocks,
    isEncoder,
    diffusion,
    hasCache: has,
    states: [],
  };
}

/** Sizes that hold for all layers, and which layers have keys and values. @throws {ModelError} */
function readHeads(
  file: MetadataReader,
  heads: number,
  embeddingLength: number,
  isHybrid: boolean,
): HeadSizes & { readonly has: (layer: number) => boolean } {
  const allLayers = (): boolean => true;
  const kvHeadsOf = isHybrid ? file.layerSize("attention.head_count_kv") : { value: file.size("attention.head_count_kv"), has: allLayers };
  const kvHeads = kvHeadsOf.value ?? heads;
  const keyLength = file.size("attention.key_length") ?? embeddingLength / heads;
  const valueLength = file.size("attention.value_length") ?? embeddingLength / heads;
  if (!Number.isInteger(keyLength) || !Number.isInteger(valueLength) || heads % kvHeads !== 0) {
    throw new ModelError(
      `metadata: expected ${file.key("embedding_length")} to be a multiple of attention.head_count, and that of attention.head_count_kv, got ${embeddingLength}, ${heads} and ${kvHeads}; convert the model again`,
    );
  }
  return { heads, kvHeads, keyLength, valueLength, has: kvHeadsOf.has };
}

/** Number of layers, and of the blocks after them. @throws {ModelError} */
function readBlocks(file: MetadataReader): Pick<ModelConfig, "layers" | "nextnBlocks"> {
  const blocks = file.requiredBlocks();
  const nextnBlocks = file.number("nextn_predict_layers") ?? 0;
  if (Number.isInteger(nextnBlocks) && nextnBlocks >= 0 && (blocks === 0 || nextnBlocks < blocks))
    return { layers: blocks - nextnBlocks, nextnBlocks };
  throw new ModelError(
    `metadata: expected ${file.key("nextn_predict_layers")} from 0 to ${blocks - 1}, got ${nextnBlocks}; convert the model again`,
  );
}

/** The epsilon of the model's norms, which the file must have. */
export function readEpsilon(file: MetadataReader, norm: ModelConfig["norm"]): number {
  return file.requiredEpsilon(`attention.layer_norm_${norm === "layer" ? "" : "rms_"}epsilon`);
}

/** The number of tokens in the vocabulary. @throws {ModelError} */
export function readVocabSize(file: MetadataReader): number {
  const size = file.metadata.optionalStrings("tokenizer.ggml.tokens")?.length ?? file.size("vocab_size");
  if (size !== undefined && size > 0) return size;
  throw new ModelError(`metadata: expected tokenizer.ggml.tokens or ${file.key("vocab_size")}, got neither; convert the model again`);
}
