import { UnsupportedError } from "@centella/core";
import type { Metadata } from "@centella/gguf";
import type { DecoderConfig } from "../config.ts";
import { ModelError } from "../errors.ts";
import { MetadataReader } from "../metadataReader.ts";
import type { Family } from "./family.ts";
import { type RopeConfig, readRope } from "./ropeConfig.ts";

/** Hyperparameters of one model: what its family's description and the file's metadata come to. Factors are 1 where there are none. */
export interface ModelConfig extends DecoderConfig {
  readonly feedForwardLength: number;
  readonly heads: number;
  /** Epsilon of the norms. */
  readonly epsilon: number;
  /** Whether both parts of a block read its input; see {@link Family}. */
  readonly parallel: "always" | "withoutFeedForwardNorm" | "never";
  readonly embeddingScale: number;
  readonly residualScale: number;
  readonly attention: AttentionConfig;
  /** Rotary positions; undefined if nothing is rotated. */
  readonly rope: RopeConfig | undefined;
  readonly logitScale: number;
  /** 0: none. */
  readonly logitSoftcap: number;
}

export interface AttentionConfig {
  /** Factor of q·k before the softmax. */
  readonly scale: number;
  /** 0: none. */
  readonly softcap: number;
  /** Tokens that layers with a window see; 0: no layer has one. */
  readonly window: number;
  /** Whether a layer has a window. */
  readonly isWindowed: (layer: number) => boolean;
  /** Positions from which the scores would be scaled up (`attention.temperature_scale`), which is not computed. */
  readonly unscaledPositions: number;
}

/**
 * Reads a family's keys with llama.cpp's defaults. 0 counts as "not set", as its own files use it.
 * @throws {ModelError} naming every missing key at once; {UnsupportedError} for what this version does not compute
 */
export function readModelConfig(family: Family, metadata: Metadata): ModelConfig {
  const reader = new MetadataReader(metadata, family.name);
  const contextLength = reader.requiredCount("context_length");
  const embeddingLength = reader.requiredCount("embedding_length");
  const layers = reader.requiredCount("block_count");
  const feedForwardLength = reader.requiredCount("feed_forward_length");
  const heads = reader.requiredCount("attention.head_count");
  const epsilon = reader.requiredNumber(`attention.layer_norm_${family.norm === "layer" ? "" : "rms_"}epsilon`);
  const logitScale = family.logits?.scale === undefined ? 1 : reader.requiredNumber("logit_scale");
  reader.finish();

  const kvHeads = reader.count("attention.head_count_kv") ?? heads;
  const keyLength = reader.count("attention.key_length") ?? embeddingLength / heads;
  const valueLength = reader.count("attention.value_length") ?? embeddingLength / heads;
  if (!Number.isInteger(keyLength) || !Number.isInteger(valueLength) || heads % kvHeads !== 0) {
    throw new ModelError(
      `metadata: expected ${family.name}.embedding_length to be a multiple of attention.head_count, and that of attention.head_count_kv, got ${embeddingLength}, ${heads} and ${kvHeads}; convert the model again`,
    );
  }
  if (reader.bool("attention.causal") === false) {
    throw new UnsupportedError(`${family.name}.attention.causal = false`, "a model that looks ahead cannot generate text");
  }
  const experts = reader.count("expert_count");
  if (experts !== undefined) {
    throw new UnsupportedError(`${family.name}.expert_count = ${experts}`, "mixtures of experts are not computed yet");
  }
  const shape = { embeddingLength, layers, heads, keyLength };
  return {
    vocabSize: readVocabSize(reader, family.name),
    contextLength,
    embeddingLength,
    layers,
    feedForwardLength,
    heads,
    kvHeads,
    keyLength,
    valueLength,
    epsilon,
    parallel: readParallel(family, reader),
    embeddingScale: embeddingScale(family, reader, embeddingLength),
    residualScale: (family.residualScale && reader.number("residual_scale")) || 1,
    attention: readAttention(family, reader, shape),
    rope: readRope(family, reader, keyLength),
    logitScale: family.logits?.scale === "divide" ? 1 / logitScale : logitScale,
    logitSoftcap: softcap(family.logits?.softcap, reader.number("final_logit_softcapping")),
  };
}

function readParallel({ name, parallel }: Family, reader: MetadataReader): ModelConfig["parallel"] {
  if (parallel !== "fromFile") return parallel ?? "never";
  const stored = reader.bool("use_parallel_residual");
  if (stored === undefined)
    throw new ModelError(`metadata: expected the key ${name}.use_parallel_residual, got none; convert the model again`);
  return stored ? "always" : "never";
}

function embeddingScale({ embeddingScale }: Family, reader: MetadataReader, width: number): number {
  if (embeddingScale === "sqrtWidth") return Math.sqrt(width);
  return (embeddingScale === "metadata" && reader.number("embedding_scale")) || 1;
}

function readAttention(
  { attention = {} }: Family,
  reader: MetadataReader,
  { embeddingLength, layers, heads, keyLength }: { embeddingLength: number; layers: number; heads: number; keyLength: number },
): AttentionConfig {
  const { widthScaledLayers, scaleFromFile = false } = attention;
  const headSize = layers === widthScaledLayers ? embeddingLength / heads : keyLength;
  const window = attention.window === undefined ? 0 : (reader.count("attention.sliding_window") ?? attention.window.fallback ?? 0);
  const temperature = reader.number("attention.temperature_scale");
  return {
    scale: (scaleFromFile && reader.number("attention.scale")) || 1 / Math.sqrt(headSize),
    softcap: softcap(attention.softcap, reader.number("attn_logit_softcapping")),
    window,
    isWindowed: window === 0 ? () => false : readPattern(reader, attention.window?.period ?? 1),
    unscaledPositions:
      temperature === undefined
        ? Number.POSITIVE_INFINITY
        : (reader.count("attention.temperature_length") ?? reader.count("rope.scaling.original_context_length") ?? 0),
  };
}

/** Which layers have a window: as listed by the file, or all but each n-th; 0 is all. */
function readPattern(reader: MetadataReader, fallback: number): (layer: number) => boolean {
  const listed = reader.flags("attention.sliding_window_pattern");
  if (typeof listed === "object") return (layer) => listed[layer] === true;
  const period = listed ?? fallback;
  return period === 0 ? () => true : (layer) => layer % period < period - 1;
}

function softcap(rule: { readonly fallback: number } | undefined, stored: number | undefined): number {
  return rule === undefined ? 0 : (stored ?? rule.fallback);
}

function readVocabSize(reader: MetadataReader, name: string): number {
  const size = reader.metadata.optionalStrings("tokenizer.ggml.tokens")?.length ?? reader.count("vocab_size");
  if (size !== undefined && size > 0) return size;
  throw new ModelError(`metadata: expected tokenizer.ggml.tokens or ${name}.vocab_size, got neither; convert the model again`);
}
