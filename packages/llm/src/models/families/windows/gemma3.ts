import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Gemma 3, its text part: windows in five layers of six, which rotate with a base of their own. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const { embeddingLength: d, layers, heads, keyLength } = config;
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...unscaled(globalRope), base: file.positive("rope.freq_base_swa") ?? 10_000 };
  const windows = readWindow(file, { period: 6 });
  // The 27B, with 62 layers, scales scores by the width that heads would have if they divided the model's.
  const scale = 1 / Math.sqrt(layers === 62 ? d / heads : keyLength);
  const softcap = file.positive("final_logit_softcapping") ?? 0;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, Math.sqrt(d));
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const rope = window > 0 ? localRope : globalRope;
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x), { norm: "head" }), rope);
        const attended = layer.norm("post_attention_norm", layer.attention(heads, { scale, window }));
        const middle = program.add(layer.pick(x), attended);
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation: "gelu" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return logits(m, outputNorm(m, x), { softcap });
    },
  };
};
