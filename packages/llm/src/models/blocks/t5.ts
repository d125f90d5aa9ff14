import type { Value } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import type { Layer } from "./layer.ts";

/** Distance from which on all positions are in the last bucket. */
const farthest = 128;

/** Buckets of distances from a query to a key, to either side. */
export interface DistanceBuckets {
  readonly count: number;
  /** Whether keys after their queries have buckets of their own. Otherwise they share that of distance 0. */
  readonly isBidirectional: boolean;
}

export function readBuckets(file: MetadataReader, isBidirectional: boolean): DistanceBuckets {
  return { count: file.requiredSize("attention.relative_buckets_count"), isBidirectional };
}

/**
 * The bucket of a key at a distance from its query, as in llama.cpp: one for each of the near distances, and of the far ones more for each
 * as they grow (Raffel et al., 2020).
 */
export function bucketOf(distance: number, { count, isBidirectional }: DistanceBuckets): number {
  const buckets = isBidirectional ? Math.floor(count / 2) : count;
  const exact = Math.floor(buckets / 2);
  const first = isBidirectional && distance > 0 ? buckets : 0;
  const away = isBidirectional ? Math.abs(distance) : Math.max(0, -distance);
  if (away < exact) return first + away;
  const growth = Math.fround(Math.fround(Math.log(Math.fround(away / exact))) * (buckets - exact));
  return first + Math.min(buckets - 1, Math.floor(Math.fround(exact + growth / Math.log(farthest / exact))));
}

/** The learned bias `[H, 2 * 128 + 1]` by distance of a layer that has one. */
export function distanceBias({ model, weights, index }: Layer, buckets: DistanceBuckets): Value {
  const { program, config } = model;
  const table = weights.matrix("attn_rel_b.weight", [buckets.count, config.headsOf(index).heads]);
  const ids = Int32Array.from({ length: 2 * farthest + 1 }, (_, i) => bucketOf(i - farthest, buckets));
  return program.transpose(program.embedding(table, program.constant(ids, "i32", [ids.length])), { axes: [1, 0] });
}

/** Projects what heads return: `y [T, H, dV] -> [n, d]`, the rows that {@link Layer.pick} leaves. */
export function attentionOutput(layer: Layer, name: string, y: Value): Value {
  const { program, T, config } = layer.model;
  const { heads, valueLength } = config.headsOf(layer.index);
  return layer.linear(name, layer.pick(program.reshape(y, { shape: [T, heads * valueLength] })), { rows: config.embeddingLength });
}

/** `x + feedForward(norm(x))`: gated with GELU, or plain with ReLU. */
export function withFeedForward(m: ModelBuilder, layer: Layer, x: Value): Value {
  const isGated = layer.weights.has("ffn_gate.weight");
  const fed = layer.feedForward(layer.norm("ffn_norm", x), isGated ? { activation: "gelu" } : { kind: "plain", activation: "relu" });
  return m.program.add(x, fed);
}
