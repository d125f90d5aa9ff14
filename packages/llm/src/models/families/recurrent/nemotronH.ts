import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import type { NextnTraits } from "../../blocks/nextn.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { mamba2Block, readMamba2, withStates } from "../../blocks/recurrent/ssm.ts";
import { lastExtent } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Nemotron-H and Nemotron 3: each layer is a Mamba-2 block, an attention without positions, or a feed-forward part, in some files of experts. */
export const family: Family = async (file) => {
  const latentLength = file.size("moe_latent_size");
  const widths = file.layerSize("feed_forward_length");
  const ssm = readMamba2(file);
  const epsilonOf = file.number("attention.layer_norm_rms_epsilon") === undefined ? "layer" : "rms";
  const config = readConfig(file, { isHybrid: true, epsilonOf, feedForwardLength: widths.value ?? 0 });
  const feedForward = await openFeedForward(file, {
    feedForward: { kind: "plain", activation: "squaredRelu", scales: true },
    experts: {
      ...storedExperts(file),
      gating: "sigmoid",
      shared: "plain",
      ...(latentLength !== undefined && { latent: { name: "ffn_latent", length: latentLength } }),
    },
  });
  return {
    config: withStates(config, ssm, (layer) => !config.hasCache(layer) && !widths.has(layer)),
    forward(m) {
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", layer.enter(x));
        const mixed = widths.has(layer.index)
          ? feedForward(layer, layer.pick(input))
          : config.hasCache(layer.index)
            ? layer.attention(layer.qkv(input))
            : mamba2Block(layer, input, ssm);
        x = m.program.add(layer.pick(x), mixed);
      }
      return logits(m, outputNorm(m, x));
    },
    ...nextnOf(
      config,
      (layer, x) => {
        const { program } = layer.model;
        const middle = program.add(x, layer.attention(layer.qkv(layer.norm("attn_norm", x))));
        return program.add(middle, feedForward(layer, layer.norm("post_attention_norm", middle)));
      },
      { norm: centredNorm(file.number("attention.layer_norm_epsilon") ?? config.epsilon) },
    ),
  };
};

/** The norm of the block that predicts further tokens, unlike those of the model. */
function centredNorm(eps: number): Required<NextnTraits>["norm"] {
  return ({ model, weights }, y) => model.program.layerNorm(y, weights.vector("nextn.shared_head_norm.weight", lastExtent(y)), { eps });
}
