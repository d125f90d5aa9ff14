import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelDescription } from "../../../model/modelBuilder.ts";
import { gatedQueries } from "../../blocks/attention/gatedQueries.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { nextnOf } from "../../blocks/nextnOf.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { deltaNetBlock, type KeySharing, readDeltaNet, withDeltaNets } from "../../blocks/recurrent/deltaNet.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Qwen 3 Next. */
export const family: Family = (file) => {
  // llama.cpp leaves out these, not those of Qwen 3.5.
  const unused = ["attn_qkv", "attn_gate", "ssm_in", "ssm_out"].map((name) => `blk.*.${name}.scale`);
  return qwenNext(file, "neighbours", unused);
};

/** Qwen's models of gated delta nets, with attention in every fourth layer, whose heads have gates, and feed-forward parts of experts or none. */
export async function qwenNext(file: MetadataReader, sharing: KeySharing, unused: readonly string[] = []): Promise<ModelDescription> {
  const sizes = readDeltaNet(file);
  const config = withDeltaNets(file, readConfig(file), sizes);
  const rope = readRope(file, "neox", config);
  const feedForward = await openFeedForward(file, { feedForward: { scales: true }, experts: { normalize: true, shared: "gated" } });
  const attend = (layer: Layer, input: Value): Value => {
    const { heads, gate } = gatedQueries(layer, input);
    return layer.attention(layer.rope(heads, rope), { gate });
  };
  const layerOf = (layer: Layer, x: Value, isAttention: boolean): Value => {
    const { program } = layer.model;
    const input = layer.norm("attn_norm", x);
    const mixed = isAttention ? attend(layer, input) : deltaNetBlock(layer, input, sizes, sharing);
    const middle = program.add(layer.pick(x), mixed);
    return program.add(middle, feedForward(layer, layer.norm("post_attention_norm", middle)));
  };
  return {
    config,
    forward(m) {
      m.ignore(...unused);
      let x = embed(m);
      for (const layer of layersOf(m)) x = layerOf(layer, layer.enter(x), config.hasCache(layer.index));
      return logits(m, outputNorm(m, x));
    },
    ...nextnOf(config, (layer, x) => layerOf(layer, x, true)),
  };
}
