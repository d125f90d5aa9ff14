import { UnsupportedError } from "@centella/core";
import type { Metadata } from "@centella/gguf";
import { ModelError } from "./errors.ts";
import { MetadataReader } from "./metadataReader.ts";

/** What the cache, the sessions and the decoder need to know of a model, whatever its architecture. */
export interface DecoderConfig {
  readonly vocabSize: number;
  /** Tokens that the model was trained on at a time. */
  readonly contextLength: number;
  readonly layers: number;
  readonly kvHeads: number;
  /** Elements of a key per head. */
  readonly keyLength: number;
  /** Elements of a value per head. */
  readonly valueLength: number;
}

/** Rotary position embedding, as the `rope` op takes it. */
export interface RopeConfig {
  /** Leading elements of a head that are rotated. */
  readonly dims: number;
  readonly base: number;
  /** Multiplies positions: 1 / factor of linear scaling. */
  readonly scale: number;
}

/** Hyperparameters of the Llama family. */
export interface LlamaConfig extends DecoderConfig {
  readonly embeddingLength: number;
  readonly feedForwardLength: number;
  readonly heads: number;
  readonly rmsEpsilon: number;
  /** Factor of q·k before the softmax. */
  readonly attentionScale: number;
  readonly rope: RopeConfig;
}

/**
 * Reads the `llama.*` keys with llama.cpp's defaults. 0 counts as "not set", as its own files use it.
 * @throws {ModelError} naming every missing key at once; {UnsupportedError} for what this version does not compute
 */
export function readLlamaConfig(metadata: Metadata): LlamaConfig {
  const reader = new MetadataReader(metadata, "llama");
  const contextLength = reader.requiredCount("context_length");
  const embeddingLength = reader.requiredCount("embedding_length");
  const layers = reader.requiredCount("block_count");
  const feedForwardLength = reader.requiredCount("feed_forward_length");
  const heads = reader.requiredCount("attention.head_count");
  const rmsEpsilon = reader.requiredNumber("attention.layer_norm_rms_epsilon");
  reader.finish();

  const kvHeads = reader.count("attention.head_count_kv") ?? heads;
  const keyLength = reader.count("attention.key_length") ?? embeddingLength / heads;
  const valueLength = reader.count("attention.value_length") ?? embeddingLength / heads;
  if (!Number.isInteger(keyLength) || !Number.isInteger(valueLength) || heads % kvHeads !== 0) {
    throw new ModelError(
      `metadata: expected llama.embedding_length to be a multiple of attention.head_count, and that of attention.head_count_kv, got ${embeddingLength}, ${heads} and ${kvHeads}; convert the model again`,
    );
  }
  if (reader.bool("attention.causal") === false) {
    throw new UnsupportedError("llama.attention.causal = false", "a model that looks ahead cannot generate text");
  }
  return {
    vocabSize: readVocabSize(reader),
    contextLength,
    embeddingLength,
    layers,
    feedForwardLength,
    heads,
    kvHeads,
    keyLength,
    valueLength,
    rmsEpsilon,
    attentionScale: reader.number("attention.scale") ?? 1 / Math.sqrt(keyLength),
    rope: readRope(reader, keyLength),
  };
}

function readRope(reader: MetadataReader, keyLength: number): RopeConfig {
  const type = reader.string("rope.scaling.type") ?? "linear";
  if (type !== "none" && type !== "linear") {
    throw new UnsupportedError(`rope scaling ${type}`, "only linear scaling and rope_freqs tensors are computed so far");
  }
  const attentionFactor = reader.number("rope.scaling.attn_factor") ?? 1;
  if (attentionFactor !== 1) {
    throw new UnsupportedError(`rope.scaling.attn_factor = ${attentionFactor}`, "it belongs to scaling types that are not computed yet");
  }
  const dims = reader.count("rope.dimension_count") ?? keyLength;
  if (dims > keyLength || dims % 2 !== 0) {
    throw new ModelError(
      `metadata: expected rope.dimension_count to be even and at most ${keyLength}, got ${dims}; convert the model again`,
    );
  }
  // `rope.scale_linear` is the key's name in files from before August 2023.
  const factor = reader.number("rope.scaling.factor") ?? reader.number("rope.scale_linear") ?? 1;
  return { dims, base: reader.number("rope.freq_base") ?? 10_000, scale: type === "none" ? 1 : 1 / factor };
}

function readVocabSize(reader: MetadataReader): number {
  const size = reader.metadata.optionalStrings("tokenizer.ggml.tokens")?.length ?? reader.count("vocab_size");
  if (size !== undefined && size > 0) return size;
  throw new ModelError("metadata: expected tokenizer.ggml.tokens or llama.vocab_size, got neither; convert the model again");
}
