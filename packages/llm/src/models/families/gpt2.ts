import { embed, embedPositions, logits, outputNorm } from "../blocks/ends.ts";
import { layersOf } from "../blocks/layer.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/** GPT-2: learned positions. */
export const family: Family = (file) => ({
  config: readConfig(file, { norm: "layer" }),
  forward(m) {
    const { program } = m;
    let x = program.add(embed(m), embedPositions(m));
    for (const layer of layersOf(m)) {
      const middle = program.add(layer.pick(x), layer.attention(layer.qkv(layer.norm("attn_norm", x))));
      x = program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle), { kind: "plain", activation: "gelu" }));
    }
    return logits(m, outputNorm(m, x));
  },
});
