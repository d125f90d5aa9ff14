import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Grok 1 and 2: experts beside a feed-forward part, norms around both parts, bounded scores. Old files leave out Grok 1's factors. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const embeddingScale = file.positive("embedding_scale") ?? 78.38367176906169;
  const scale = file.positive("logit_scale") ?? 0.5773502691896257;
  const attention = {
    scale: file.positive("attention.output_scale") ?? 0.08838834764831845,
    softcap: file.positive("attn_logit_softcapping") ?? 30,
  };
  const softcap = file.positive("final_logit_softcapping") ?? 0;
  const feedForward = await openFeedForward(file, { feedForward: { activation: "gelu" }, experts: { normalize: true } });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, embeddingScale);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const middle = program.add(layer.pick(x), layer.norm("attn_output_norm", layer.attention(heads, attention)));
        const input = layer.norm("ffn_norm", middle);
        const mixed = feedForward(layer, input);
        const isBeside = layer.weights.has("ffn_up.weight");
        const fed = isBeside ? m.scale(program.add(layer.feedForward(input, { activation: "gelu" }), mixed), Math.SQRT1_2) : mixed;
        const postNorm = layer.weights.has("layer_output_norm.weight") ? "layer_output_norm" : "post_ffw_norm";
        x = program.add(middle, layer.norm(postNorm, fed));
      }
      return logits(m, outputNorm(m, x), { scale, softcap });
    },
  };
};
