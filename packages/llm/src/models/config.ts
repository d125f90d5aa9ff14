import { UnsupportedError } from "@centella/core";
import type { Metadata } from "@centella/gguf";
import { ModelError } from "../errors.ts";
import { MetadataReader, type ModelHeader } from "../load/metadataReader.ts";
import type { ModelShape } from "../load/modelShape.ts";
import { type AttentionConfig, type LatentConfig, readAttention } from "./attentionConfig.ts";
import type { Family } from "./family.ts";
import type { ExpertsConfig, RecurrentConfig } from "./layerConfig.ts";
import { type RopeConfig, readRope } from "./ropeConfig.ts";

/** Hyperparameters of one model: what its family's description and the file's metadata come to. Factors are 1 where there are none. */
export interface ModelConfig extends ModelShape {
  readonly feedForwardLength: number;
  readonly heads: number;
  /** Epsilon of the norms. */
  readonly epsilon: number;
  /** Whether both parts of a block read its input; see {@link Family}. */
  readonly parallel: "always" | "withoutFeedForwardNorm" | "never";
  readonly embeddingScale: number;
  readonly residualScale: number;
  readonly attention: AttentionConfig;
  /** Of attention with latent keys and values. */
  readonly latent: LatentConfig | undefined;
  /** Rotary positions; undefined if nothing is rotated. */
  readonly rope: RopeConfig | undefined;
  readonly experts: ExpertsConfig | undefined;
  readonly recurrent: RecurrentConfig | undefined;
  readonly logitScale: number;
  /** 0: none. */
  readonly logitSoftcap: number;
}

/** Reads what few models have. */
export type RareConfig = typeof import("./rareConfig.ts");

/** Whether a file may have some of it. */
export function hasRareConfig({ name, recurrent, attention, experts }: Family, metadata: Metadata): boolean {
  return recurrent !== undefined || attention?.latent === true || (experts !== undefined && metadata.has(`${name}.expert_count`));
}

/**
 * Reads a family's keys with llama.cpp's defaults. 0 counts as "not set", as its own files use it.
 * @param rare given where {@link hasRareConfig} says so
 * @throws {ModelError} naming every missing key at once; {UnsupportedError} for what this version does not compute
 */
export function readModelConfig(family: Family, header: ModelHeader, rare: RareConfig | undefined): ModelConfig {
  const reader = new MetadataReader(header, family.name);
  const { recurrent, feedForward } = family;
  const isAttentive = recurrent?.layers !== "all";
  const contextLength = reader.requiredTokens("context_length");
  const embeddingLength = reader.requiredSize("embedding_length");
  const layers = reader.requiredBlocks();
  const feedForwardLength = feedForward?.kind === "none" ? 0 : reader.requiredWidth("feed_forward_length");
  const heads = isAttentive ? (reader.layerSize("attention.head_count").value ?? reader.requiredSize("attention.head_count")) : 1;
  const epsilon = reader.requiredEpsilon(`attention.layer_norm_${family.norm === "layer" ? "" : "rms_"}epsilon`);
  const scaleFallback = family.logits?.scaleFallback?.(embeddingLength);
  const logitScale =
    family.logits?.scale === undefined
      ? 1
      : scaleFallback === undefined
        ? reader.requiredPositive("logit_scale")
        : (reader.positive("logit_scale") ?? scaleFallback);
  const recurrentConfig = recurrent && rare!.readRecurrent(recurrent.kind, reader, embeddingLength);
  reader.finish();

  const kvHeadsOf =
    recurrent === undefined
      ? { value: reader.size("attention.head_count_kv"), has: () => true }
      : reader.layerSize("attention.head_count_kv");
  const hasCache = isAttentive ? kvHeadsOf.has : () => false;
  const latent = family.attention?.latent ? rare!.readLatent(reader) : undefined;
  const kvHeads = latent?.isAbsorbed || !isAttentive ? 1 : (kvHeadsOf.value ?? heads);
  const keyLength = reader.size("attention.key_length") ?? embeddingLength / heads;
  const valueLength = reader.size("attention.value_length") ?? embeddingLength / heads;
  if (!Number.isInteger(keyLength) || !Number.isInteger(valueLength) || heads % kvHeads !== 0) {
    throw new ModelError(
      `metadata: expected ${family.name}.embedding_length to be a multiple of attention.head_count, and that of attention.head_count_kv, got ${embeddingLength}, ${heads} and ${kvHeads}; convert the model again`,
    );
  }
  if (reader.bool("attention.causal") === false && !family.isEncoder) {
    throw new UnsupportedError(
      `${family.name}.attention.causal = false`,
      "a model that looks ahead cannot generate text, and embeddings of this family are not computed that way",
    );
  }
  const rope = readRope(family, reader, layers, latent?.ropeLength ?? keyLength);
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
    isEncoder: family.isEncoder ?? false,
    hasCache,
    states: recurrentConfig === undefined ? [] : rare!.stateShapes(recurrentConfig, layers, hasCache),
    epsilon,
    parallel: readParallel(family, reader),
    embeddingScale: embeddingScale(family, reader, embeddingLength),
    residualScale: (family.residualScale && (reader.positive("residual_scale") ?? family.residualScale.fallback(layers))) || 1,
    attention: readAttention(family, reader, shape, latent, rope),
    latent,
    rope,
    experts: rare?.readExperts(family, reader),
    recurrent: recurrentConfig,
    logitScale: family.logits?.scale === "divide" ? 1 / logitScale : logitScale,
    logitSoftcap: softcap(family.logits?.softcap, reader.positive("final_logit_softcapping")),
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
  if (embeddingScale === undefined) return 1;
  return embeddingScale === "sqrtWidth" ? Math.sqrt(width) : (reader.positive("embedding_scale") ?? embeddingScale.fallback);
}

/** A soft cap as the file has it, where the family has one. */
function softcap(rule: { readonly fallback: number } | undefined, stored: number | undefined): number {
  return rule === undefined ? 0 : (stored ?? rule.fallback);
}

function readVocabSize(reader: MetadataReader, name: string): number {
  const size = reader.metadata.optionalStrings("tokenizer.ggml.tokens")?.length ?? reader.size("vocab_size");
  if (size !== undefined && size > 0) return size;
  throw new ModelError(`metadata: expected tokenizer.ggml.tokens or ${name}.vocab_size, got neither; convert the model again`);
}
