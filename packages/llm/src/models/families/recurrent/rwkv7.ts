import type { Value } from "@centella/core";
import { embed, embeddingNorm, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { type FirstValues, readHeadSize, timeMix, tokenBefore, withRwkvStates } from "../../blocks/rwkv7.ts";
import { readAttentionFreeConfig } from "../../blocks/ssm.ts";
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

/** `x [T, d] -> [n, d]` */
function channelMix(layer: Layer, x: Value): Value {
  const { program, config } = layer.model;
  const { embeddingLength: d } = config;
  const factors = layer.weights.vector("channel_mix_lerp_k.weight", [1, 1, d]);
  const change = program.mul(program.sub(tokenBefore(layer, "channels", x), x), program.reshape(factors, { shape: [d] }));
  const rows = layer.weights.shape("channel_mix_key.weight")?.[0] ?? d;
  const inner = program.relu(layer.unscaledProduct("channel_mix_key", layer.pick(program.add(x, change)), { rows }));
  return layer.unscaledProduct("channel_mix_value", program.mul(inner, inner), { rows: d });
}
