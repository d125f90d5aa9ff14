import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Command R7B and later: windows in three layers of four, which alone have positions. */
export const family: Family = (file) => {
  const scale = file.requiredPositive("logit_scale");
  const config = readConfig(file, { norm: "layer" });
  const rope = readRope(file, "norm", config);
  const windows = readWindow(file, { period: 4, fallback: 4096 });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const input = layer.norm("attn_norm", x);
        const heads = layer.rope(layer.qkv(input), window > 0 ? rope : undefined);
        const attended = program.add(layer.pick(x), layer.attention(heads, { window }));
        x = program.add(attended, layer.feedForward(layer.pick(input), { scales: true }));
      }
      return logits(m, outputNorm(m, x), { scale });
    },
  };
};
