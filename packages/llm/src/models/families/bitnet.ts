import type { GatedActivation } from "../blocks/activation.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** BitNet b1.58: norms before the last products of both parts, and scales of the matrices. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x)), rope);
        const attended = layer.attention(heads, { norm: "attn_sub_norm" });
        const middle = program.add(layer.pick(x), attended);
        const activation: GatedActivation = (_, gate, up) => layer.norm("ffn_sub_norm", program.mul(program.silu(gate), up));
        x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { activation, scales: true }));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
