import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { mamba2Block, readMamba2, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";
import { graniteScales, normalizedExperts } from "../variants.ts";

/** Granite 4: Mamba-2 layers, some layers with attention, Granite's multipliers, experts with a shared one or none. */
export const family: Family = async (file) => {
  const { embeddingScale, attention, residualScale = 1, logitScale = 1 } = graniteScales(file);
  const ssm = readMamba2(file);
  const config = withStates(readConfig(file, { isHybrid: true }), ssm);
  const rope = file.bool("rope.scaling.finetuned") === false ? undefined : readRope(file, "norm", config);
  const feedForward = await openFeedForward(file, { experts: normalizedExperts(file) });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, embeddingScale);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const mixed = config.hasCache(layer.index)
          ? layer.attention(layer.rope(layer.qkv(input), rope), attention)
          : mamba2Block(layer, input, ssm);
        const middle = program.add(layer.pick(x), m.scale(mixed, residualScale));
        x = program.add(middle, m.scale(feedForward(layer, layer.norm("ffn_norm", middle)), residualScale));
      }
      return logits(m, outputNorm(m, x), { scale: logitScale });
    },
  };
};
