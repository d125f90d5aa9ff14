import { attentionTemperature, readAttentionTemperature } from "../blocks/attention/attentionTemperature.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { openFeedForward } from "../blocks/openFeedForward.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Mistral Small 3 and Ministral 3: attention is sharper beyond the context of the first training. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "norm", config);
  const scale = file.positive("attention.scale");
  const feedForward = await openFeedForward(file, {
    feedForward: { scales: true },
    experts: { normalize: true, scale: file.positive("expert_weights_scale") },
  });
  const temperatureConfig = readAttentionTemperature(file, rope.originalContext);
  return {
    config,
    forward(m) {
      const { program } = m;
      const temperature = attentionTemperature(m, temperatureConfig);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const { q, k, v } = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const sharpened = temperature === undefined ? q : program.mul(q, temperature);
        const middle = program.add(layer.pick(x), layer.attention({ q: sharpened, k, v }, { scale }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
