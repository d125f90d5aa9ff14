import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { mambaBlock, readMamba, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Jamba: Mamba layers, some layers with attention and without positions, experts in some. */
export const family: Family = async (file) => {
  const ssm = readMamba(file);
  const config = withStates(readConfig(file, { isHybrid: true }), ssm);
  const feedForward = await openFeedForward(file, { experts: {} });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const mixed = config.hasCache(layer.index) ? layer.attention(layer.qkv(input)) : mambaBlock(layer, input, ssm);
        const middle = program.add(layer.pick(x), mixed);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
