import type { Value } from "@centella/core";
import { gatedQueries } from "../../blocks/attention/gatedQueries.ts";
import { type ChooseBlocks, readPooledIndexer } from "../../blocks/attention/pooledIndexer.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { requireRopeSections } from "../../blocks/attention/ropeSections.ts";
import { embed, logits } from "../../blocks/ends.ts";
import { copies } from "../../blocks/hyperConnections.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { collapseLowRank, connectLowRank, type LowRankConnections } from "../../blocks/lowRankConnections.ts";
import { addNgrams, ngramStates, readNgramEmbedding } from "../../blocks/ngramEmbedding.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { deltaNetBlock, readDeltaNet, withDeltaNets } from "../../blocks/recurrent/deltaNet.ts";
import { Section } from "../../blocks/section.ts";
import { type ModelConfig, readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/**
 * Qwen 4: gated delta nets, gated attention in every fourth layer to blocks that an indexer chooses, hyper-connections of a low rank, experts with a
 * shared one, embeddings of n-grams; pictures are not read.
 */
export const family: Family = async (file) => {
  requireRopeSections(file);
  const sizes = readDeltaNet(file);
  const connections: LowRankConnections = {
    count: file.requiredSize("hyper_connection.count"),
    rank: file.requiredSize("hyper_connection.low_rank"),
  };
  const ngrams = readNgramEmbedding(file);
  const base = withDeltaNets(file, readConfig(file), sizes);
  const indexer = readPooledIndexer(file, base.hasCache);
  const config: ModelConfig = {
    ...base,
    extraCache: indexer.extraCache,
    ngrams: ngrams?.shape,
    states: [...base.states, ...(ngrams ? ngramStates(ngrams, connections.count * base.embeddingLength) : [])],
  };
  const rope = readRope(file, "neox", config);
  const feedForward = await openFeedForward(file, {
    feedForward: { scales: true },
    experts: { normalize: true, scale: file.positive("expert_weights_scale"), shared: "gated" },
  });
  const attend = (layer: Layer, input: Value, chooseBlocks: ChooseBlocks | undefined): Value => {
    const { heads, gate } = gatedQueries(layer, input);
    return layer.attention(layer.rope(heads, rope), {
      gate,
      tables: chooseBlocks?.(layer, input),
      scale: file.positive("attention.scale"),
    });
  };
  return {
    config,
    forward(m) {
      m.ignore("blk.*.attn_q.bias", "blk.*.attn_k.bias", "blk.*.attn_v.bias");
      const chooseBlocks = indexer.open(m, rope);
      let states = copies(m, embed(m), connections.count);
      for (const layer of layersOf(m)) {
        if (ngrams?.layer === layer.index) states = addNgrams(layer, states, ngrams);
        const attention = connectLowRank(layer, "attn", states, connections);
        const mixed = config.hasCache(layer.index)
          ? attend(layer, attention.input, chooseBlocks)
          : deltaNetBlock(layer, attention.input, sizes, "strided", "sigmoid");
        states = attention.after(mixed);
        const fed = connectLowRank(layer, "ffn", states, connections);
        states = fed.after(feedForward(layer, fed.input));
      }
      return logits(m, collapseLowRank(new Section(m, "output"), states, connections));
    },
  };
};
