import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { AttendOptions, ModelBuilder } from "../../../model/modelBuilder.ts";
import { embed, outputNorm, states } from "../ends.ts";
import { Layer } from "../layer.ts";

const biasName = "attn_rel_b.weight";

/** Distance from which on all positions are in the last bucket. */
const farthest = 128;

/** Buckets of distances from queries to keys. */
export interface DistanceBuckets {
  readonly count: number;
}

/** Call it before `readConfig`, whose error names a missing key of both. */
export function readBuckets(file: MetadataReader): DistanceBuckets {
  return { count: file.requiredSize("attention.relative_buckets_count") };
}

/** A layer, and the bias by distance of its attention to its own text. */
interface BiasedLayer {
  readonly layer: Layer;
  /** `[H, 2 * 128 + 1]` */
  readonly bias: Value;
}

/** The layers of the encoder or of the decoder. Those without a bias of their own have the first one's. */
export function* layersOf(m: ModelBuilder, side: "enc" | "dec", layers: number, buckets: DistanceBuckets): Generator<BiasedLayer> {
  let first: Value | undefined;
  for (let index = 0; index < layers; index++) {
    const layer = new Layer(m, index, `${side}.blk.${index}`);
    const bias = first === undefined || layer.weights.has(biasName) ? distanceBias(layer, buckets, side === "dec") : first;
    first ??= bias;
    yield { layer, bias };
    m.weights.failEarly();
  }
}

/** The encoder: `tokens [T] -> states [nOut, d]`. */
export function encode(m: ModelBuilder, buckets: DistanceBuckets, layers: number): Value {
  m.weights.ignoreAll("dec.");
  let x = embed(m);
  for (const { layer, bias } of layersOf(m, "enc", layers, buckets)) {
    x = withFeedForward(layer, m.program.add(x, selfAttention(layer, layer.norm("attn_norm", x), { causal: false, bias })));
  }
  return states(m, outputNorm(m, m.program.embedding(x, m.outRows), "enc.output_norm"));
}

/** Attention of a text to itself: `[T, d] -> [T, d]`. */
export function selfAttention(layer: Layer, x: Value, options: Pick<AttendOptions, "causal" | "bias">): Value {
  const { q, k, v } = layer.qkv(x);
  return attentionOutput(layer, "attn_o", layer.model.attend(layer.index, q, k, v, { ...options, scale: 1 }));
}

/**
 * The bucket of a key at a distance from its query, as in llama.cpp: near distances have one each, and far ones share wider and wider ones
 * (Raffel et al., 2020). Without `causal`, half of the buckets are for keys after their queries.
 */
function bucketOf(distance: number, { count }: DistanceBuckets, causal: boolean): number {
  const buckets = causal ? count : Math.floor(count / 2);
  const exact = Math.floor(buckets / 2);
  const first = !causal && distance > 0 ? buckets : 0;
  const away = causal ? Math.max(0, -distance) : Math.abs(distance);
  if (away < exact) return first + away;
  const growth = Math.fround(Math.fround(Math.log(Math.fround(away / exact))) * (buckets - exact));
  return first + Math.min(buckets - 1, Math.floor(Math.fround(exact + growth / Math.log(farthest / exact))));
}

/** The learned bias `[H, 2 * 128 + 1]` of a layer. */
function distanceBias({ model, weights, index }: Layer, buckets: DistanceBuckets, causal: boolean): Value {
  const { program, config } = model;
  const table = weights.matrix(biasName, [buckets.count, config.headsOf(index).heads]);
  const ids = Int32Array.from({ length: 2 * farthest + 1 }, (_, i) => bucketOf(i - farthest, buckets, causal));
  return program.transpose(program.embedding(table, program.constant(ids, "i32", [ids.length])), { axes: [1, 0] });
}

/** Projects what heads return: `y [T, H, dV] -> [T, d]`. */
export function attentionOutput(layer: Layer, name: string, y: Value): Value {
  const { program, T, config } = layer.model;
  const { heads, valueLength } = config.headsOf(layer.index);
  return layer.linear(name, program.reshape(y, { shape: [T, heads * valueLength] }), { rows: config.embeddingLength });
}

/** `x + feedForward(norm(x))`: gated with GELU, or plain with ReLU. */
export function withFeedForward(layer: Layer, x: Value): Value {
  const isGated = layer.weights.has("ffn_gate.weight");
  const fed = layer.feedForward(layer.norm("ffn_norm", x), isGated ? { activation: "gelu" } : { kind: "plain", activation: "relu" });
  return layer.model.program.add(x, fed);
}
