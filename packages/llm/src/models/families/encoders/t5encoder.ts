import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { embed, outputNorm, states } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { attentionOutput, type DistanceBuckets, distanceBias, readBuckets, withFeedForward } from "../../blocks/t5.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** T5's encoder. */
export const family: Family = (file) => {
  const buckets = readBuckets(file, true);
  return { config: readConfig(file, { isEncoder: true }), forward: (m) => states(m, encode(m, buckets)) };
};

/** The states of the tokens after the last layer: `[T] -> [n, d]`. */
function encode(m: ModelBuilder, buckets: DistanceBuckets): Value {
  const { program } = m;
  let x = embed(m);
  let bias: Value | undefined;
  for (const layer of layersOf(m, (index) => `enc.blk.${index}`)) {
    // Layers without a bias of their own share the first one's.
    if (bias === undefined || layer.weights.has("attn_rel_b.weight")) bias = distanceBias(layer, buckets);
    const { q, k, v } = layer.qkv(layer.norm("attn_norm", x));
    const attended = attentionOutput(layer, "attn_o", m.attend(layer.index, q, k, v, { causal: false, scale: 1, bias }));
    x = withFeedForward(m, layer, program.add(layer.pick(x), attended));
  }
  return outputNorm(m, x, "enc.output_norm");
}
