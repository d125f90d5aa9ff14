import type { Value } from "@centella/core";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { type Layer, layersOf } from "../blocks/layer.ts";
import { readLayerHeads } from "../blocks/layerSizes.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/**
 * DeciLM and Nemotron made from Llama 3 by a search: each layer has heads and a feed-forward width of its own. Some layers have a product in
 * place of the attention, or no attention, or no feed-forward part.
 */
export const family: Family = (file) => {
  const widths = file.sizes("feed_forward_length");
  const [heads, kvHeads] = [file.sizes("attention.head_count"), file.sizes("attention.head_count_kv")];
  const isAttention = (layer: number): boolean => heads(layer) !== undefined && kvHeads(layer) !== undefined;
  const config = { ...readConfig(file, { headsOf: readLayerHeads(file), feedForwardLength: 0 }), hasCache: isAttention };
  const rope = readRope(file, "norm", config);
  const attend = (layer: Layer, input: Value): Value =>
    isAttention(layer.index)
      ? layer.attention(layer.rope(layer.qkv(input), rope))
      : layer.linear("attn_output", layer.pick(input), { rows: config.embeddingLength });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const rest = layer.pick(x);
        const hasAttention = heads(layer.index) !== undefined;
        const middle = hasAttention ? program.add(rest, attend(layer, layer.norm("attn_norm", x))) : rest;
        const length = widths(layer.index);
        x = length === undefined ? middle : program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { length }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
