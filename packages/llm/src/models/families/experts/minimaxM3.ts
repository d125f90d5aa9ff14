import { readBlockIndexer } from "../../blocks/attention/blockIndexer.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { clippedSwiglu } from "../../blocks/boundedActivation.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** MiniMax M3: after the first dense layers, each head of keys has an indexer that chooses blocks of the text; a shared expert. */
export const family: Family = async (file) => {
  const denseLayers = file.tokens("leading_dense_block_count") ?? 0;
  const indexer = readBlockIndexer(file, (layer) => layer >= denseLayers);
  const config = { ...readConfig(file), extraCache: indexer.extraCache };
  const rope = readRope(file, "neox", config);
  const experts = { ...storedExperts(file), shared: "plain" } as const;
  const feedForward = await openFeedForward(file, { feedForward: { activation: clippedSwiglu }, experts });
  return {
    config,
    forward(m) {
      const { program } = m;
      const attendSparsely = indexer.open(m, rope);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const input = layer.norm("attn_norm", x);
        const heads = layer.rope(layer.qkv(input, { norm: "head" }), rope);
        const isSparse = attendSparsely !== undefined && layer.index >= denseLayers;
        const attended = isSparse ? attendSparsely(layer, input, heads) : layer.attention(heads);
        const middle = program.add(layer.pick(x), attended);
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
