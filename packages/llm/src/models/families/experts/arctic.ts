import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { experts, readExperts } from "../../blocks/experts.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Arctic: experts beside the whole layer, which read its input by a norm of their own. */
export const family: Family = (file) => {
  const config = readConfig(file, { feedForwardLength: file.requiredSize("embedding_length") });
  const rope = readRope(file, "norm", config);
  const mixture = readExperts(file, { normalize: true });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const attended = layer.attention(layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope));
        const rest = layer.pick(x);
        const middle = program.add(rest, attended);
        const dense = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
        x = mixture === undefined ? dense : program.add(dense, experts(layer, layer.norm("ffn_norm_exps", rest), mixture));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
