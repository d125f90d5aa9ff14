import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** OLMo 2, and OLMo 3 with its windows in three layers of four: norms after both parts of a layer. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const globalRope = readRope(file, "neox", config);
  const localRope = unscaled(globalRope);
  const windows = readWindow(file, { period: 4 });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const heads = layer.rope(layer.qkv(x, { norm: "all" }), window > 0 ? localRope : globalRope);
        const middle = program.add(layer.pick(x), layer.norm("post_attention_norm", layer.attention(heads, { window })));
        x = program.add(middle, layer.norm("post_ffw_norm", layer.feedForward(middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
