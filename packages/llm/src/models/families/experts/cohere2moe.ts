import type { Value } from "@centella/core";
import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Command A with experts: as Command R7B, but the first layers are dense and have positions, and a shared expert counts half. */
export const family: Family = async (file) => {
  const norm = file.number("attention.layer_norm_rms_epsilon") === undefined ? "layer" : "rms";
  const scale = file.requiredPositive("logit_scale");
  const config = readConfig(file, { norm });
  const rope = readRope(file, "norm", config);
  const windows = readWindow(file, { period: 4, isFirst: true });
  const denseLayers = file.number("leading_dense_block_count") ?? 0;
  const feedForward = await openFeedForward(file, {
    feedForward: { scales: true },
    experts: { ...storedExperts(file), gating: "sigmoid" },
  });
  const layerOf = (layer: Layer, x: Value, window: number, rotates: boolean): Value => {
    const { model } = layer;
    const input = layer.norm("attn_norm", x);
    const heads = layer.rope(layer.qkv(input), rotates ? rope : undefined);
    const attended = layer.attention(heads, { window });
    const isHalved = layer.weights.has("ffn_up_shexp.weight");
    const fed = model.scale(feedForward(layer, layer.pick(input)), isHalved ? 1 / 2 : 1);
    return model.program.add(model.program.add(layer.pick(x), fed), attended);
  };
  return {
    config,
    forward(m) {
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        x = layerOf(layer, x, window, window > 0 || layer.index < denseLayers);
      }
      return logits(m, outputNorm(m, x), { scale });
    },
    ...nextnOf(config, (layer, x) => layerOf(layer, x, windows.listedAt(layer.index), true), { logitScale: scale }),
  };
};
