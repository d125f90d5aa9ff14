import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Gemma 2: windows in every other layer, norms before and after both parts of a layer, soft caps on scores and logits. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const { embeddingLength: d, layers, heads, keyLength } = config;
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...globalRope, base: file.positive("rope.freq_base_swa") ?? globalRope.base };
  const windows = readWindow(file, { period: 2, fallback: 4096 });
  // The 27B, with 46 layers, scales scores by the width that heads would have if they divided the model's.
  const scale = 1 / Math.sqrt(layers === 46 ? d / heads : keyLength);
  const scoreCap = file.positive("attn_logit_softcapping") ?? 50;
  const logitCap = file.positive("final_logit_softcapping") ?? 30;
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m, Math.sqrt(d));
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), window > 0 ? localRope : globalRope);
        const attended = layer.norm("post_attention_norm", layer.attention(heads, { scale, window, softcap: scoreCap }));
        const middle = program.add(layer.pick(x), attended);
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation: "gelu" });
        x = program.add(middle, layer.norm("post_ffw_norm", fed));
      }
      return logits(m, outputNorm(m, x), { softcap: logitCap });
    },
  };
};
