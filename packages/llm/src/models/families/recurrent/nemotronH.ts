import { UnsupportedError } from "@centella/core";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { mamba2Block, readMamba2, withStates } from "../../blocks/recurrent/ssm.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Nemotron-H and Nemotron 3: each layer is a Mamba-2 block, an attention without positions, or a feed-forward part, in some files of experts. */
export const family: Family = async (file) => {
  if (file.size("moe_latent_size") !== undefined)
    throw new UnsupportedError(file.key("moe_latent_size"), "experts of a narrower state are not computed");
  const widths = file.layerSize("feed_forward_length");
  const ssm = readMamba2(file);
  const epsilonOf = file.number("attention.layer_norm_rms_epsilon") === undefined ? "layer" : "rms";
  const config = readConfig(file, { isHybrid: true, epsilonOf, feedForwardLength: widths.value ?? 0 });
  const feedForward = await openFeedForward(file, {
    feedForward: { kind: "plain", activation: "squaredRelu", scales: true },
    experts: { ...storedExperts(file), gating: "sigmoid", shared: "plain" },
  });
  return {
    config: withStates(config, ssm, (layer) => !config.hasCache(layer) && !widths.has(layer)),
    forward(m) {
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const mixed = widths.has(layer.index)
          ? feedForward(layer, layer.pick(input))
          : config.hasCache(layer.index)
            ? layer.attention(layer.qkv(input))
            : mamba2Block(layer, input, ssm);
        x = m.program.add(layer.pick(x), mixed);
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
