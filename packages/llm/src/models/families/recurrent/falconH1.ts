import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { mamba2Block, readMamba2, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Falcon H1: attention and Mamba-2 side by side in every layer. */
export const family: Family = (file) => {
  const ssm = readMamba2(file);
  const config = withStates(readConfig(file), ssm, () => true);
  const rope = readRope(file, "neox", config);
  const scale = file.positive("attention.scale");
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.attn_output.bias", "rope_freqs.weight");
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const attended = layer.attention(layer.rope(layer.qkv(input), rope), { scale });
        const middle = program.add(layer.pick(x), program.add(attended, mamba2Block(layer, input, ssm)));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
