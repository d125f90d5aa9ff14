import { embed, embeddingNorm, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { channelMix } from "../../blocks/recurrent/channelMix.ts";
import { timeMix6 } from "../../blocks/recurrent/rwkv6.ts";
import { readHeadSize, withRwkvStates } from "../../blocks/recurrent/rwkv7.ts";
import { readAttentionFreeConfig } from "../../blocks/recurrent/ssm.ts";
import type { Family } from "../../family.ts";

/** RWKV-6. */
export const family: Family = (file) => {
  const size = readHeadSize(file);
  const halvedEvery = file.tokens("rescale_every_n_layers") ?? Number.POSITIVE_INFINITY;
  const config = withRwkvStates(readAttentionFreeConfig(file, "layer"), size, ["time", "channels", "key", "value", "decay"]);
  const mixing = { size, kvHeads: config.embeddingLength / size, hasBonus: true };
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embeddingNorm(m, embed(m));
      for (const layer of layersOf(m)) {
        const middle = program.add(x, timeMix6(layer, layer.norm("attn_norm", x), mixing));
        const y = program.add(layer.pick(middle), channelMix(layer, layer.norm("attn_norm_2", middle)));
        // The file's weights expect states of half the size after these layers, which keeps them in the range of f16.
        x = m.scale(y, (layer.index + 1) % halvedEvery === 0 ? 0.5 : 1);
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
