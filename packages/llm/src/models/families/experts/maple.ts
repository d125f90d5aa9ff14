import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { bounded } from "../../blocks/boundedActivation.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readLayerNumbers } from "../../blocks/layerSizes.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Maple: experts with bounded activations; only layers with a window have positions. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const localRope = { ...rope, base: file.positive("rope.freq_base_swa") ?? rope.base };
  const windows = readWindow(file, { period: 0 });
  const bounds = readLayerNumbers(file, "swiglu_clamp_exp");
  const feedForward = await openFeedForward(file, { experts: { normalize: true } });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x), { norm: "head" }), window > 0 ? localRope : undefined);
        const middle = program.add(layer.pick(x), layer.attention(heads, { window }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle), { activation: bounded(bounds(layer.index), "before") }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
