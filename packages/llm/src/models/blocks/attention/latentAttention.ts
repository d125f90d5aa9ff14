import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { AttendOptions, ModelBuilder } from "../../../model/modelBuilder.ts";
import { everyIndex, expertProduct } from "../experts.ts";
import type { Heads, Layer } from "../layer.ts";
import { applyRope, type RopeConfig } from "./rope.ts";

/**
 * Attention whose keys and values come from one latent vector of each token (DeepSeek-AI, 2024, "DeepSeek-V2", section 2.1).
 * If it is absorbed, the cache holds that vector as one key and value for all heads; otherwise it holds the keys and values of each head.
 */
export interface LatentConfig {
  readonly isAbsorbed: boolean;
  /** Elements of the vector that queries come from; 0: they come from the input. */
  readonly queryRank: number;
  /** Elements of the latent vector. */
  readonly rank: number;
  /** Elements of a head's key as queries see it: the part without positions, then the rotated part. */
  readonly keyLength: number;
  readonly ropeLength: number;
  /** Elements of a head's value. */
  readonly valueLength: number;
}

/** @throws {ModelError} naming every missing key at once */
export function readLatent(file: MetadataReader): LatentConfig {
  const [keyLength, valueLength] = [file.size("attention.key_length_mla"), file.size("attention.value_length_mla")];
  const isAbsorbed = keyLength !== undefined && valueLength !== undefined;
  const latent = {
    isAbsorbed,
    queryRank: file.size("attention.q_lora_rank") ?? 0,
    rank: file.requiredSize("attention.kv_lora_rank"),
    keyLength: isAbsorbed ? keyLength : file.requiredSize("attention.key_length"),
    ropeLength: file.requiredSize("rope.dimension_count"),
    valueLength: isAbsorbed ? valueLength : file.requiredSize("attention.value_length"),
  };
  file.finish();
  if (latent.ropeLength < latent.keyLength) return latent;
  throw new ModelError(
    `metadata: expected rope.dimension_count below the key length ${latent.keyLength}, got ${latent.ropeLength}; convert the model again`,
  );
}

export interface LatentOptions extends AttendOptions {
  readonly scale: number;
  /** Without it nothing is rotated. */
  readonly rope?: RopeConfig | undefined;
  /** Chooses the keys that queries see, by the vectors `[T, queryRank]` that queries come from. Default: all of the text. */
  readonly chooseKeys?: (queries: Value) => AttendOptions["tables"];
  /** Factors of what heads return; see {@link Layer.attentionGate}. */
  readonly gate?: Value;
  /** Factors of the queries; see `attentionTemperature`. */
  readonly temperature?: Value | undefined;
}

/** `x [T, d] -> [n, d]`, the rows that {@link Layer.pick} leaves. */
export function latentAttention(layer: Layer, x: Value, latent: LatentConfig, options: LatentOptions): Value {
  const { program } = layer.model;
  const { rope, temperature, gate, chooseKeys, ...attend } = options;
  const source = querySource(layer, x, latent);
  const tables = chooseKeys?.(source);
  const output = (y: Value): Value => layer.attentionOutput(gate === undefined ? y : program.mul(y, gate));
  const attended = (q: Value, k: Value, v: Value): Value =>
    layer.model.attend(layer.index, temperature === undefined ? q : program.mul(q, temperature), k, v, { ...attend, tables });
  const query = splitQuery(layer, source, latent, rope);
  const { value, rotatedKey } = compress(layer, x, latent, rope);
  if (!latent.isAbsorbed) {
    const { q, k, v } = expand(layer, query, value, rotatedKey, latent);
    return output(attended(q, k, v));
  }
  // Each head's key and value matrices as experts: head h of every token takes matrix h.
  const { heads: H } = layer.model.config.headsOf(layer.index);
  const { rank, keyLength, ropeLength, valueLength } = latent;
  const everyHead = everyIndex(layer.model, H);
  const keys = layer.weights.matrix("attn_k_b.weight", [H, rank, keyLength - ropeLength]);
  const q = program.concat([expertProduct(layer.model, query.plain, keys, everyHead), query.rotated], { axis: -1 }); // [T, H, rank + rope]
  const v = program.reshape(value, { shape: [layer.model.T, 1, rank] });
  const y = attended(q, program.concat([v, rotatedKey], { axis: -1 }), v); // [T, H, rank]
  const values = layer.weights.matrix("attn_v_b.weight", [H, valueLength, rank]);
  return output(expertProduct(layer.model, y, values, everyHead));
}

/** Queries `[T, H, …]`: the part without positions and the rotated one. */
interface SplitQuery {
  readonly plain: Value;
  readonly rotated: Value;
}

/** What queries come from: `x [T, d]`, or a vector of `queryRank` elements if the layer has one. */
function querySource(layer: Layer, x: Value, latent: LatentConfig): Value {
  if (!hasQueryRank(layer, latent)) return x;
  return layer.norm("attn_q_a_norm", layer.unscaledProduct("attn_q_a", x, { rows: latent.queryRank }));
}

function hasQueryRank({ weights }: Layer, { queryRank }: LatentConfig): boolean {
  return queryRank > 0 && weights.has("attn_q_a.weight");
}

function splitQuery(layer: Layer, source: Value, latent: LatentConfig, rope: RopeConfig | undefined): SplitQuery {
  const { keyLength, ropeLength } = latent;
  const { model } = layer;
  const { program, T, config } = model;
  const { heads: H } = config.headsOf(layer.index);
  const query = layer.unscaledProduct(hasQueryRank(layer, latent) ? "attn_q_b" : "attn_q", source, { rows: H * keyLength });
  const heads = program.reshape(query, { shape: [T, H, keyLength] });
  const plainLength = keyLength - ropeLength;
  return { plain: last(model, heads, 0, plainLength), rotated: rotated(model, rope, last(model, heads, plainLength, ropeLength)) };
}

/** `x [T, d]` to the latent vector `value [T, rank]` and to the rotated part of all heads' keys `[T, 1, rope]`. */
function compress(
  layer: Layer,
  x: Value,
  { rank, ropeLength }: LatentConfig,
  rope: RopeConfig | undefined,
): { readonly value: Value; readonly rotatedKey: Value } {
  const { program, T } = layer.model;
  const of = rank + ropeLength;
  const compressed = layer.unscaledProduct("attn_kv_a_mqa", x, { rows: rank, of });
  const shared = layer.unscaledProduct("attn_kv_a_mqa", x, { rows: ropeLength, from: rank, of });
  const key = program.reshape(shared, { shape: [T, 1, ropeLength] });
  const normedKey = layer.weights.has("attn_k_norm.weight") ? layer.norm("attn_k_norm", key) : key;
  return { value: layer.norm("attn_kv_a_norm", compressed), rotatedKey: rotated(layer.model, rope, normedKey) };
}

/** Queries, keys and values of each head. */
function expand(
  layer: Layer,
  query: SplitQuery,
  value: Value,
  rotatedKey: Value,
  { keyLength, ropeLength, valueLength }: LatentConfig,
): Heads {
  const { model } = layer;
  const { program, T, config } = model;
  const { heads: H } = config.headsOf(layer.index);
  const plainLength = keyLength - ropeLength;
  const both = layer.unscaledProduct("attn_kv_b", value, { rows: H * (plainLength + valueLength) });
  const perHead = program.reshape(both, { shape: [T, H, plainLength + valueLength] });
  const everyHeadsKey = program.expand(rotatedKey, { shape: [T, H, ropeLength] });
  return {
    q: program.concat([query.plain, query.rotated], { axis: -1 }),
    k: program.concat([last(model, perHead, 0, plainLength), everyHeadsKey], { axis: -1 }),
    v: last(model, perHead, plainLength, valueLength),
  };
}

/** `count` elements of the last axis, from `start` on. */
function last({ program }: ModelBuilder, x: Value, start: number, count: number): Value {
  return program.slice(x, { axis: -1, start, end: start + count });
}

function rotated(m: ModelBuilder, rope: RopeConfig | undefined, x: Value): Value {
  return rope === undefined ? x : applyRope(m, rope, x);
}
