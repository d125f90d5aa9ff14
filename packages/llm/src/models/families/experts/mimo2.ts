import type { Value } from "@centella/core";
import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, keepStates, lastNorm, logits } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readLayerHeads } from "../../blocks/layerSizes.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
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
    experts: { gating: "sigmoid", normalize: true, scale: file.positive("expert_weights_scale"), leavesOutDense: true },
  });
  const layerOf = (layer: Layer, x: Value): Value => {
    const { model } = layer;
    const window = windows.at(layer.index);
    const sinks = layer.weights.optionalVector("attn_sinks.weight", headsOf(layer.index).heads);
    const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), window > 0 ? localRope : globalRope);
    const attended = model.scale(layer.attention(heads, { window, ...(sinks && { sinks }) }), valueScale);
    const middle = model.program.add(layer.pick(x), attended);
    return model.program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
  };
  return {
    config,
    forward(m) {
      m.ignore(...["attn_q", "attn_k", "attn_v"].flatMap((name) => [`blk.*.${name}.bias`, `blk.*.${name}.scale`]));
      let x = embed(m);
      for (const layer of layersOf(m)) x = layerOf(layer, x);
      return logits(m, lastNorm(m, keepStates(m, x)));
    },
    ...nextnOf(config, layerOf, { keepsUnnormed: true }),
  };
};
