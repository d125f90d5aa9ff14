import { ModelError } from "../errors.ts";
import type { MetadataReader } from "../load/metadataReader.ts";
import type { AttentionRule, Family, WindowRule } from "./family.ts";
import { type RopeConfig, readOriginalContext } from "./ropeConfig.ts";

export interface AttentionConfig {
  /** Factor of q·k before the softmax. */
  readonly scale: number;
  /** 0: none. */
  readonly softcap: number;
  /** Tokens that layers with a window see; 0: no layer has one. */
  readonly window: number;
  /** Whether a layer has a window. */
  readonly isWindowed: (layer: number) => boolean;
  /** What scores of queries far into a text are multiplied by; undefined if that is always 1. */
  readonly temperature: AttentionTemperature | undefined;
  /** Largest ALiBi bias; 0: none. */
  readonly alibi: number;
  /** Bound of queries, keys and values; 0: none. */
  readonly clamp: number;
}

/** Scores of a query at position p are multiplied by `1 + scale · ln(1 + floor(p / length))`. */
export interface AttentionTemperature {
  readonly scale: number;
  readonly length: number;
}

/**
 * Attention whose keys and values are made of one latent vector of each token (DeepSeek-AI, 2024, "DeepSeek-V2", section 2.1):
 * absorbed, that vector is what is cached, as one key and value for all heads; otherwise the keys and values that it comes to.
 */
export interface LatentConfig {
  readonly isAbsorbed: boolean;
  /** Elements of the vector that queries come from; 0: they come from the input. */
  readonly queryRank: number;
  /** Elements of the latent vector. */
  readonly rank: number;
  /** Of a head's key, as queries see it: the part without positions, then the rotated one. */
  readonly keyLength: number;
  readonly ropeLength: number;
  /** Of a head's value. */
  readonly valueLength: number;
}

interface Shape {
  readonly embeddingLength: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyLength: number;
}

export function readAttention(
  { attention = {} }: Family,
  reader: MetadataReader,
  { embeddingLength, layers, heads, keyLength }: Shape,
  latent: LatentConfig | undefined,
  rope: RopeConfig | undefined,
): AttentionConfig {
  const { widthScaledLayers, scaleFromFile = false, clamp = false } = attention;
  const headSize = layers === widthScaledLayers ? embeddingLength / heads : (latent?.keyLength ?? keyLength);
  const window = readWindow(attention.window, reader, layers);
  const stretch = latent === undefined ? 1 : (rope?.plain.scoreFactor ?? 1);
  return {
    scale: (scaleFromFile && reader.positive("attention.scale")) || stretch ** 2 / Math.sqrt(headSize),
    softcap: attention.softcap === undefined ? 0 : (reader.positive("attn_logit_softcapping") ?? attention.softcap.fallback),
    window,
    isWindowed: window === 0 ? () => false : readPattern(reader, attention.window?.period ?? 1),
    temperature: readTemperature(attention.temperature, reader),
    alibi: readAlibi(attention.alibi, reader, layers),
    clamp: (clamp && reader.positive("attention.clamp_kqv")) || 0,
  };
}

function readWindow(rule: WindowRule | undefined, reader: MetadataReader, layers: number): number {
  if (rule === undefined || (rule.onlyAt !== undefined && rule.onlyAt !== layers)) return 0;
  return reader.tokens("attention.sliding_window") ?? rule.fallback ?? 0;
}

/** @throws {ModelError} if the file does not say how long its steps are */
function readTemperature(rule: AttentionRule["temperature"], reader: MetadataReader): AttentionTemperature | undefined {
  const scale = rule === undefined ? undefined : reader.positive("attention.temperature_scale");
  if (scale === undefined) return undefined;
  const length = rule === "byLength" ? reader.tokens("attention.temperature_length") : readOriginalContext(reader);
  if (length !== undefined) return { scale, length };
  throw new ModelError(
    "metadata: expected attention.temperature_length beside attention.temperature_scale, got none; convert the model again",
  );
}

function readAlibi(rule: AttentionRule["alibi"], reader: MetadataReader, layers: number): number {
  if (rule === undefined) return 0;
  if (rule === "fromFile") return reader.positive("attention.max_alibi_bias") ?? 0;
  return rule.onlyAt === undefined || rule.onlyAt === layers ? rule.maxBias : 0;
}

/** Which layers have a window: as listed by the file, or all but each n-th; 0 is all. */
function readPattern(reader: MetadataReader, fallback: number): (layer: number) => boolean {
  const listed = reader.flags("attention.sliding_window_pattern");
  if (typeof listed === "object") return (layer) => listed[layer] === true;
  const period = listed ?? fallback;
  return period === 0 ? () => true : (layer) => layer % period < period - 1;
}
