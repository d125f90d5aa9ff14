import { attentionTemperature, readAttentionTemperature } from "../blocks/attentionTemperature.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { latentAttention, readLatent } from "../blocks/latentAttention.ts";
import { layersOf } from "../blocks/layer.ts";
import { openFeedForward } from "../blocks/openFeedForward.ts";
import { readRope } from "../blocks/rope.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** DeepSeek V2, V3 and R1: latent attention, a shared expert, the first layers without experts. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const latent = readLatent(file);
  const rope = readRope(file, "norm", { keyLength: latent.ropeLength, isLatent: true });
  const scale = rope.scoreFactor ** 2 / Math.sqrt(latent.keyLength);
  const stepLength = file.tokens("attention.temperature_length");
  const temperatureConfig = readAttentionTemperature(file, stepLength);
  const normalize = file.bool("expert_weights_norm") === true;
  const feedForward = await openFeedForward(file, {
    experts: { normalize, scale: file.positive("expert_weights_scale"), shared: "plain" },
  });
  return {
    config: latent.isAbsorbed ? { ...config, headsOf: (layer) => ({ ...config.headsOf(layer), kvHeads: 1 }) } : config,
    forward(m) {
      const { program } = m;
      const temperature = attentionTemperature(m, temperatureConfig);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const attended = latentAttention(layer, layer.norm("attn_norm", x), latent, { rope, scale, temperature });
        const middle = program.add(layer.pick(x), attended);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
