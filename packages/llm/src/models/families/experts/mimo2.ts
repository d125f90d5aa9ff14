import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readLayerHeads } from "../../blocks/layerSizes.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readRope } from "../../blocks/rope.ts";
import { readWindow } from "../../blocks/window.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** MiMo 2: layers with a window have heads of their own number, sinks where the file has them, and a factor of what attention returns. */
export const family: Family = async (file) => {
  const headsOf = readLayerHeads(file);
  const config = readConfig(file, { headsOf });
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...globalRope, base: file.positive("rope.freq_base_swa") ?? globalRope.base };
  const windows = readWindow(file, { period: 0 });
  const valueScale = file.positive("attention.value_scale") ?? 1;
  const feedForward = await openFeedForward(file, {
    experts: { gating: "sigmoid", normalize: true, scale: file.positive("expert_weights_scale") },
  });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const sinks = layer.weights.optionalVector("attn_sinks.weight", headsOf(layer.index).heads);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), window > 0 ? localRope : globalRope);
        const attended = m.scale(layer.attention(heads, { window, ...(sinks && { sinks }) }), valueScale);
        const middle = program.add(layer.pick(x), attended);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
