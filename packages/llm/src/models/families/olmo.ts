import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { unitNorm } from "../blocks/section.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** OLMo 1: layer norms without weights, bounded queries, keys and values. */
export const family: Family = (file) => {
  const config = readConfig(file, { norm: "layer" });
  const rope = readRope(file, "norm", config);
  const clamp = file.positive("attention.clamp_kqv") ?? 0;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(unitNorm(m, x), { clamp }), rope);
        const middle = program.add(layer.pick(x), layer.attention(heads));
        x = program.add(middle, layer.feedForward(unitNorm(m, middle)));
      }
      return logits(m, unitNorm(m, x));
    },
  };
};
