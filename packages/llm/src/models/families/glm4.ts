import { readRope } from "../blocks/attention/rope.ts";
import { hasRopeSections } from "../blocks/attention/ropeSections.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** GLM 4 0414, dense: norms before and after both parts of a layer. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const plainRope = readRope(file, "norm", config);
  const rope = hasRopeSections(file, plainRope.dims) ? ({ ...plainRope, type: "neox" } as const) : plainRope;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const middle = program.add(layer.pick(x), layer.norm("post_attention_norm", layer.attention(heads)));
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { kind: "fusedGate" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
