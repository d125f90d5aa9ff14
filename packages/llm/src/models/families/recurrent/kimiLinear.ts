import { latentAttention, readLatent } from "../../blocks/attention/latentAttention.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { withLatentCache } from "../../blocks/latentTransformer.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { kimiDeltaBlock, readKimiDelta, unusedOfKimi, withKimiDelta } from "../../blocks/recurrent/kimiDelta.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Kimi Linear: delta attention, and in some layers latent attention without positions; experts with a shared one. */
export const family: Family = async (file) => {
  const latent = readLatent(file);
  const delta = readKimiDelta(file);
  const config = withLatentCache(withKimiDelta(readConfig(file, { isHybrid: true }), delta), latent);
  const feedForward = await openFeedForward(file, {
    experts: { normalize: true, scale: file.positive("expert_weights_scale"), shared: "plain" },
  });
  const scale = 1 / Math.sqrt(latent.keyLength);
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore(...unusedOfKimi);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const isCached = config.hasCache(layer.index);
        const mixed = isCached ? latentAttention(layer, input, latent, { scale }) : kimiDeltaBlock(layer, input, delta);
        const middle = program.add(layer.pick(x), mixed);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
