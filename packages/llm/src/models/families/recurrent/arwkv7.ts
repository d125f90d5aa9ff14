import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { type FirstValues, readHeadSize, timeMix, withRwkvStates } from "../../blocks/recurrent/rwkv7.ts";
import { readAttentionFreeConfig } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";

/** ARWKV-7: Qwen 2.5 with RWKV-7's time mixing in place of attention. */
export const family: Family = (file) => {
  const size = readHeadSize(file);
  const feedForwardLength = file.requiredWidth("feed_forward_length");
  const config = { ...withRwkvStates(readAttentionFreeConfig(file), size, ["time"]), feedForwardLength };
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.0.time_mix_v0.weight", "blk.0.time_mix_v1.weight", "blk.0.time_mix_v2.weight");
      const first: FirstValues = {};
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const mixed = timeMix(layer, layer.norm("attn_norm", x), size, first);
        const middle = layer.pick(program.add(x, mixed));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
