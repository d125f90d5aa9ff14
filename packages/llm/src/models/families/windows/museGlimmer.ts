import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { ones } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Epsilon of the norms after both parts of a layer, which files do not state. */
const postEpsilon = 1e-8;

/** Muse Glimmer: gated heads, windows in three of four layers, which alone have positions, and norms of the embeddings and after both parts. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const { embeddingLength: d, epsilon } = config;
  const plainRope = readRope(file, "norm", config);
  const rope = { ...plainRope, base: file.positive("rope.freq_base_swa") ?? plainRope.base };
  const windows = readWindow(file, { period: 4 });
  const scale = file.requiredPositive("logit_scale");
  const softcap = file.positive("final_logit_softcapping") ?? 0;
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.attn_gate.scale");
      let x = program.rmsNorm(embed(m), ones(program, d), { eps: epsilon });
      for (const layer of layersOf(m)) {
        const post = (name: string, y: typeof x): typeof x =>
          program.rmsNorm(y, layer.weights.vector(`${name}.weight`, d), { eps: postEpsilon });
        const window = windows.at(layer.index);
        const input = layer.norm("attn_norm", layer.enter(x));
        const heads = layer.rope(layer.qkv(input, { norm: "head" }), window > 0 ? rope : undefined);
        const attended = layer.attention(heads, { window, gate: layer.attentionGate(input, "element") });
        const middle = program.add(layer.pick(x), post("post_attention_norm", attended));
        x = program.add(middle, post("post_ffw_norm", layer.feedForward(layer.norm("ffn_norm", middle))));
      }
      return logits(m, outputNorm(m, x), { scale, softcap });
    },
  };
};
