import type { Value } from "@centella/core";
import type { HeadSizes } from "../../../load/modelShape.ts";
import { readIndexer } from "../../blocks/attention/indexer.ts";
import { type LatentConfig, latentAttention, readLatent } from "../../blocks/attention/latentAttention.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** dots.note 3: gated latent attention, in some layers with a window and sizes of their own, in the others with an indexer. */
export const family: Family = async (file) => {
  const global = readLatent(file);
  const local: LatentConfig = {
    ...global,
    rank: file.requiredSize("attention.kv_lora_rank_swa"),
    keyLength: file.requiredSize("attention.key_length_mla_swa"),
    valueLength: file.requiredSize("attention.value_length_mla_swa"),
  };
  const heads = file.sizes("attention.head_count");
  const windows = readWindow(file, { period: 0 });
  const latentOf = (layer: number): LatentConfig => (windows.at(layer) > 0 ? local : global);
  const headsOf = (layer: number): HeadSizes => {
    const { rank, ropeLength } = latentOf(layer);
    return { heads: heads(layer) ?? 1, kvHeads: 1, keyLength: rank + ropeLength, valueLength: rank };
  };
  const indexer = readIndexer(file, { ropeType: "neox", epsilon: 1e-6, has: (layer) => windows.at(layer) === 0 });
  const config = { ...readConfig(file, { headsOf }), extraCache: indexer.extraCache };
  const globalRope = readRope(file, "norm", { keyLength: global.ropeLength });
  const localRope = { ...globalRope, base: file.positive("rope.freq_base_swa") ?? globalRope.base };
  const feedForward = await openFeedForward(file, { feedForward: { scales: true }, experts: { ...storedExperts(file), shared: "plain" } });
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.attn_gate.scale");
      const chooser = indexer.open(m, globalRope);
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const window = windows.at(layer.index);
        const latent = latentOf(layer.index);
        const input = layer.norm("attn_norm", x);
        const gate = layer.attentionGate(input, "head");
        const common = { scale: 1 / Math.sqrt(latent.keyLength), gate };
        const seen =
          window > 0 ? { rope: localRope, window } : { rope: globalRope, chooseKeys: (queries: Value) => chooser(layer, input, queries) };
        const middle = program.add(layer.pick(x), latentAttention(layer, input, latent, { ...common, ...seen }));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", middle)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};
