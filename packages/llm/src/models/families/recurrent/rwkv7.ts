import { embed, embeddingNorm, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { channelMix } from "../../blocks/recurrent/channelMix.ts";
import { type FirstValues, readHeadSize, timeMix, withRwkvStates } from "../../blocks/recurrent/rwkv7.ts";
import { readAttentionFreeConfig } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";

/** RWKV-7. */
export const family: Family = (file) => {
  const size = readHeadSize(file);
  const config = withRwkvStates(readAttentionFreeConfig(file, "layer"), size, ["time", "channels"]);
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.0.time_mix_v0.weight", "blk.0.time_mix_v1.weight", "blk.0.time_mix_v2.weight");
      const first: FirstValues = {};
      let x = embeddingNorm(m, embed(m));
      for (const layer of layersOf(m)) {
        const middle = program.add(x, timeMix(layer, layer.norm("attn_norm", x), size, first));
        x = program.add(layer.pick(middle), channelMix(layer, layer.norm("attn_norm_2", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
