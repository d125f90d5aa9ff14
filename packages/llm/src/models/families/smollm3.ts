import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** SmolLM 3: every fourth layer has no positions. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "norm", config);
  const scale = file.positive("attention.scale");
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const isRotated = (layer.index + 1) % 4 !== 0;
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), isRotated ? rope : undefined);
        const middle = program.add(layer.pick(x), layer.attention(heads, { scale }));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
