import type { Value } from "@centella/core";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { bounded } from "../../blocks/boundedActivation.ts";
import { embed, keepStates, lastNorm, logits } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readLayerHeads, readLayerNumbers } from "../../blocks/layerSizes.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Step 3.5: gated heads, more of them in layers with a window, half of the rotated elements in the others, and bounded activations. */
export const family: Family = async (file) => {
  const headsOf = readLayerHeads(file);
  const config = readConfig(file, { headsOf });
  const plainRope = readRope(file, "neox", config);
  const globalRope = { ...plainRope, dims: plainRope.dims / 2 };
  const base = file.positive("rope.freq_base_swa") ?? 10_000;
  const localRope = { ...unscaled(plainRope), base, dims: file.size("rope.dimension_count_swa") ?? plainRope.dims };
  const windows = readWindow(file, { period: 0 });
  const [bounds, sharedBounds] = [readLayerNumbers(file, "swiglu_clamp_exp"), readLayerNumbers(file, "swiglu_clamp_shexp")];
  const feedForward = await openFeedForward(file, { experts: { ...storedExperts(file), gating: "sigmoid", shared: "plain" } });
  const layerOf = (layer: Layer, x: Value): Value => {
    const { index, weights } = layer;
    const { program } = layer.model;
    const window = windows.at(index);
    const input = layer.norm("attn_norm", x);
    const heads = layer.rope(layer.qkv(input, { norm: "headIfPresent" }), window > 0 ? localRope : globalRope);
    const gate = weights.has("attn_gate.weight") ? layer.attentionGate(input, "head") : undefined;
    const middle = program.add(layer.pick(x), layer.attention(heads, { window, ...(gate && { gate }) }));
    const isMixed = weights.has("ffn_gate_inp.weight");
    const sharedActivation = bounded(sharedBounds(index), "after");
    const activation = isMixed ? bounded(bounds(index), "after") : sharedActivation;
    return program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle), { activation, sharedActivation }));
  };
  return {
    config,
    forward(m) {
      let x = embed(m);
      for (const layer of layersOf(m)) x = layerOf(layer, x);
      return logits(m, lastNorm(m, keepStates(m, x)));
    },
    ...nextnOf(config, layerOf, { keepsUnnormed: true }),
  };
};
