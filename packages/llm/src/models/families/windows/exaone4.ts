import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** EXAONE 4: norms after both parts of a layer. The 32B, with 64 layers, has windows in three of four, which alone have positions. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const windows = config.layers === 64 ? readWindow(file, { period: 4, fallback: 4096 }) : undefined;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows?.at(layer.index) ?? 0;
        const isRotated = windows === undefined || window > 0;
        const heads = layer.rope(layer.qkv(x, { norm: "head" }), isRotated ? rope : undefined);
        const attended = layer.norm("post_attention_norm", layer.attention(heads, { window }));
        const middle = program.add(layer.pick(x), attended);
        x = program.add(middle, layer.norm("post_ffw_norm", layer.feedForward(middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
