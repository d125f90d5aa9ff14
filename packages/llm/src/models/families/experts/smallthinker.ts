import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** SmallThinker: a layer's input chooses its experts. Models with windows have one layer of four without, and without positions. */
export const family: Family = async (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const localRope = { ...rope, base: file.positive("rope.freq_base_swa") ?? rope.base };
  const windows =
    file.tokens("attention.sliding_window") === undefined ? undefined : readWindow(file, { period: 4, isFirst: true, tokens: 4096 });
  const feedForward = await openFeedForward(file, { feedForward: { activation: "relu" }, experts: { normalize: true } });
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows?.at(layer.index) ?? 0;
        const globalRope = windows === undefined || layer.index % 4 !== 0 ? rope : undefined;
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), window > 0 ? localRope : globalRope);
        const rest = layer.pick(x);
        const middle = program.add(rest, layer.attention(heads, { window }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle), { routed: rest }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
