import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { HeadSizes } from "../../../load/modelShape.ts";
import { gemmaAttention, withSharedCaches } from "../../blocks/attention/gemmaAttention.ts";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow, type SlidingWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import type { FeedForwardOptions } from "../../blocks/feedForward.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { openFeedForward } from "../../blocks/openFeedForward.ts";
import { perLayerInputs, perLayerPart } from "../../blocks/perLayerInput.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Gemma 4, its text part, dense and mixtures of experts: layers with a window have heads and a rope of their own. */
export const family: Family = async (file) => {
  const layers = file.requiredBlocks();
  const windows = readWindow(file, { period: 6 });
  const widths = file.sizes("feed_forward_length");
  const headsOf = readHeads(file, windows);
  const config = readConfig(file, { headsOf, feedForwardLength: widths(0) ?? file.requiredWidth("feed_forward_length") });
  const ownCaches = layers - (file.number("attention.shared_kv_layers") ?? 0);
  const firstGlobal = Array.from({ length: layers }, (_, layer) => layer).find((layer) => windows.at(layer) === 0) ?? 0;
  const globalRope = readRope(file, "neox", headsOf(firstGlobal));
  const localLength = file.size("attention.key_length_swa") ?? headsOf(0).keyLength;
  const base = file.positive("rope.freq_base_swa") ?? 10_000;
  const localRope = { ...unscaled(globalRope), base, dims: file.size("rope.dimension_count_swa") ?? localLength };
  const attention = { windows, ownCaches, ropeOf: (layer: number) => (windows.at(layer) > 0 ? localRope : globalRope) };
  const perLayer = file.size("embedding_length_per_layer_input") ?? 0;
  const softcap = file.positive("final_logit_softcapping") ?? 0;
  const mixture = await openFeedForward(file, { feedForward: gelu, experts: { normalize: true } });
  return {
    config: withSharedCaches(file, config, windows, ownCaches),
    forward(m) {
      const { program } = m;
      let x = embed(m, Math.sqrt(config.embeddingLength));
      const inputs = perLayer > 0 ? perLayerInputs(m, x, perLayer) : undefined;
      for (const layer of layersOf(m)) {
        const attended = layer.norm("post_attention_norm", gemmaAttention(layer, layer.norm("attn_norm", layer.enter(x)), attention));
        const middle = program.add(layer.pick(x), attended);
        const length = widths(layer.index) ?? config.feedForwardLength;
        const plain = (): Value => layer.feedForward(layer.norm("ffn_norm", middle), { ...gelu, length });
        const fed = layer.weights.has("ffn_gate_inp.weight") ? withExperts(layer, middle, plain(), mixture) : plain();
        const sum = program.add(middle, layer.norm("post_ffw_norm", fed));
        const y = inputs === undefined ? sum : program.add(sum, perLayerPart(layer, sum, inputs));
        const factor = layer.weights.optionalVector("layer_output_scale.weight", 1);
        x = factor === undefined ? y : program.mul(y, factor);
      }
      return logits(m, outputNorm(m, x), { softcap });
    },
  };
};

const gelu: FeedForwardOptions = { activation: "gelu", scales: true };

/** Layers with a window may have other sizes than the rest, and each layer a number of heads of its own. */
function readHeads(file: MetadataReader, windows: SlidingWindow): (layer: number) => HeadSizes {
  const [heads, kvHeads] = [file.sizes("attention.head_count"), file.sizes("attention.head_count_kv")];
  const length = file.requiredSize("attention.key_length");
  const localLength = file.size("attention.key_length_swa") ?? length;
  return (layer) => {
    const [own, size] = [heads(layer) ?? 1, windows.at(layer) > 0 ? localLength : length];
    return { heads: own, kvHeads: kvHeads(layer) ?? own, keyLength: size, valueLength: size };
  };
}

/** Adds the experts' part to that of all tokens; each has norms of its own. The choice depends on `x`, normed with the router's scale. */
function withExperts(layer: Layer, x: Value, shared: Value, mixture: Awaited<ReturnType<typeof openFeedForward>>): Value {
  const { program, config } = layer.model;
  const scale = layer.weights.vector("ffn_gate_inp.scale", config.embeddingLength);
  const routed = layer.model.scale(program.rmsNorm(x, scale, { eps: config.epsilon }), 1 / Math.sqrt(config.embeddingLength));
  const mixed = mixture(layer, layer.norm("pre_ffw_norm_2", x), { routed });
  return program.add(layer.norm("post_ffw_norm_1", shared), layer.norm("post_ffw_norm_2", mixed));
}
