import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Falcon 7B, 40B and 180B: both parts of a layer read its input. The larger ones have a norm for each part. */
export const family: Family = (file) => {
  const config = readConfig(file, { norm: "layer" });
  const rope = readRope(file, "neox", config);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const attentionInput = layer.weights.has("attn_norm_2.weight") ? layer.norm("attn_norm_2", x) : input;
        const attended = layer.attention(layer.rope(layer.qkv(attentionInput), rope));
        const fed = layer.feedForward(layer.pick(input), { kind: "plain", activation: "gelu" });
        x = program.add(program.add(layer.pick(x), attended), fed);
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
