import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { clippedSwiglu } from "../../blocks/boundedActivation.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** gpt-oss: sinks, windows in every other layer, bounded activations, biases everywhere. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...globalRope, base: file.positive("rope.freq_base_swa") ?? globalRope.base };
  const windows = readWindow(file, { period: 2 });
  const experts = { gating: "softmaxOfChosen" } as const;
  const feedForward = await openFeedForward(file, { feedForward: { activation: clippedSwiglu }, experts });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const sinks = layer.weights.vector("attn_sinks.weight", config.heads);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", layer.enter(x))), window > 0 ? localRope : globalRope);
        const middle = program.add(layer.pick(x), layer.attention(heads, { window, sinks }));
        x = program.add(middle, feedForward(layer, layer.norm("post_attention_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
