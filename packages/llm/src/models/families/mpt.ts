import { embed, embedPositions, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** MPT: ALiBi or learned positions, bounded queries, keys and values. */
export const family: Family = (file) => {
  const alibi = file.positive("attention.max_alibi_bias") ?? 0;
  const clamp = file.positive("attention.clamp_kqv") ?? 0;
  return {
    config: readConfig(file, { norm: "layer" }),
    forward(m) {
      const { program } = m;
      let x = embed(m);
      if (m.weights.has("position_embd.weight")) x = program.add(x, embedPositions(m));
      for (const layer of layersOf(m)) {
        const heads = layer.qkv(layer.norm("attn_norm", x), { norm: "allIfPresent", clamp });
        const middle = program.add(layer.pick(x), layer.attention(heads, { alibi }));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { kind: "plain", activation: "gelu" }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
