import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readLayerHeads } from "../blocks/layerSizes.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** OpenELM: heads and feed-forward widths that grow with the layers. */
export const family: Family = (file) => {
  const widths = file.sizes("feed_forward_length");
  const config = readConfig(file, { headsOf: readLayerHeads(file), feedForwardLength: widths(0) ?? 0 });
  const rope = readRope(file, "neox", config);
  return {
    config,
    forward(m) {
      m.ignore("blk.*.attn_qkv.scale");
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.qkv(layer.norm("attn_norm", x), { norm: "head" });
        const middle = m.program.add(layer.pick(x), layer.attention(layer.rope(heads, rope)));
        x = m.program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { length: widths(layer.index) }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
