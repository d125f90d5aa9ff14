import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { embed, logits } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { lastExtent, ones } from "../blocks/section.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** Talkie: norms without weights, also after queries and keys are rotated, and the embeddings added again after each layer. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const scale = file.requiredPositive("logit_scale");
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.ffn_gate.scale", "blk.*.ffn_up.scale");
      const embedded = normed(m, embed(m));
      let x = embedded;
      for (const layer of layersOf(m)) {
        const { q, k, v } = layer.rope(layer.qkv(normed(m, x)), rope);
        const gains = layer.weights.vector("attn_q_norm.weight", [config.heads, 1]);
        const attended = layer.attention({ q: program.mul(normed(m, q), gains), k: normed(m, k), v });
        const middle = program.add(layer.pick(x), attended);
        const sum = program.add(middle, layer.feedForward(normed(m, middle), { scales: true }));
        const again = program.mul(layer.pick(embedded), layer.weights.vector("layer_output_scale.weight", 1));
        x = program.add(sum, again);
      }
      return logits(m, normed(m, x), { scale });
    },
  };
};

/** The model's norm over the last axis, without a weight. */
function normed({ program, config }: ModelBuilder, x: Value): Value {
  return program.rmsNorm(x, ones(program, lastExtent(x)), { eps: config.epsilon });
}
