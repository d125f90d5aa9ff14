import { embed, embeddingNorm, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** BLOOM: ALiBi, and a norm of the embeddings. */
export const family: Family = (file) => ({
  config: readConfig(file, { norm: "layer" }),
  forward(m) {
    const { program } = m;
    let x = embeddingNorm(m, embed(m));
    for (const layer of layersOf(m)) {
      const attended = layer.attention(layer.qkv(layer.norm("attn_norm", x)), { alibi: 8 });
      const middle = program.add(layer.pick(x), attended);
      x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { kind: "plain", activation: "gelu" }));
    }
    return logits(m, outputNorm(m, x));
  },
});
