import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** DBRX: experts in all layers, layer norms, bounded queries, keys and values. */
export const family: Family = async (file) => {
  const clamp = file.requiredPositive("attention.clamp_kqv");
  const config = readConfig(file, { norm: "layer" });
  const rope = readRope(file, "neox", config);
  const feedForward = await openFeedForward(file, { experts: { normalize: true } });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x), { clamp }), rope);
        const middle = program.add(layer.pick(x), layer.attention(heads));
        x = program.add(middle, feedForward(layer, layer.norm("attn_output_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
