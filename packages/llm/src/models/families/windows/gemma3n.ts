import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import { activated } from "../../blocks/activation.ts";
import { addToOtherStates, correctStates, firstState, mergeStates, predictStates, spreadStates } from "../../blocks/altup.ts";
import { type GemmaAttention, gemmaAttention, withSharedCaches } from "../../blocks/attention/gemmaAttention.ts";
import { readRope, unscaled } from "../../blocks/attention/rope.ts";
import { readWindow } from "../../blocks/attention/window.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { perLayerInputs, perLayerPart } from "../../blocks/perLayerInput.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** Sizes that files do not state: elements of a layer's own input, and the rank of the part beside the attention. */
const [inputLength, rank] = [256, 64];
/** Layers, from the first on, that have keys and values of their own, and those whose feed-forward parts are sparse. */
const [cachedLayers, sparseLayers] = [20, 10];
/** Standard deviations over the mean that 5 % of a normal distribution exceed. */
const deviations = 1.6448533535003662;

/** Gemma 3n, its text part: alternating updates of several states, inputs of each layer's own, and a low-rank part beside the attention. */
export const family: Family = (file) => {
  const config = readConfig(file);
  const globalRope = readRope(file, "neox", config);
  const localRope = { ...unscaled(globalRope), base: file.positive("rope.freq_base_swa") ?? 10_000 };
  const windows = readWindow(file, { period: 5 });
  const ownCaches = Math.min(cachedLayers, config.layers);
  const attention = { windows, ownCaches, ropeOf: (layer: number) => (windows.at(layer) > 0 ? localRope : globalRope) };
  const softcap = file.positive("final_logit_softcapping") ?? 30;
  return {
    config: withSharedCaches(file, config, windows, ownCaches),
    forward(m) {
      const embedded = embed(m, Math.sqrt(config.embeddingLength));
      const inputs = perLayerInputs(m, embedded, inputLength);
      let states = spreadStates(m, embedded);
      for (const layer of layersOf(m)) {
        const predicted = predictStates(layer, states);
        const computed = compute(layer, firstState(layer, predicted), attention);
        const corrected = correctStates(layer, layer.pick(predicted), computed);
        const scale = layer.weights.vector("altup_correct_scale.weight", config.embeddingLength);
        const own = perLayerPart(layer, m.program.mul(firstState(layer, corrected), scale), inputs);
        states = addToOtherStates(layer, corrected, own);
      }
      return logits(m, outputNorm(m, mergeStates(m, states)), { softcap });
    },
  };
};

/** `x [T, d] -> [n, d]`: attention beside a low-rank part (Menghani et al., 2024, "LAuReL"), and the feed-forward part. */
function compute(layer: Layer, x: Value, attention: GemmaAttention): Value {
  const { model, index } = layer;
  const { program, config } = model;
  const input = layer.norm("attn_norm", x);
  const low = layer.unscaledProduct("laurel_r", layer.unscaledProduct("laurel_l", input, { rows: rank }), { rows: config.embeddingLength });
  const beside = layer.pick(program.add(layer.norm("laurel_post_norm", low), input));
  const attended = program.add(layer.norm("post_attention_norm", gemmaAttention(layer, input, attention)), layer.pick(x));
  const middle = program.scale(program.add(attended, beside), { by: Math.SQRT1_2 });
  const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation: index < sparseLayers ? sparseGelu : "gelu" });
  return program.add(layer.norm("post_ffw_norm", fed), middle);
}

/** Keeps the part of each row of the gate that exceeds the threshold of {@link deviations}, less that threshold. */
function sparseGelu(m: ModelBuilder, gate: Value, up: Value): Value {
  const { program } = m;
  const mean = program.mean(gate, { axis: -1, keepDims: true });
  const centred = program.sub(gate, mean);
  const n = Number(gate.spec.shape.at(-1));
  const variance = program.scale(program.sum(program.mul(centred, centred), { axis: -1, keepDims: true }), { by: 1 / (n - 1) });
  const threshold = program.scale(program.sqrt(variance), { by: deviations });
  return activated(m, "gelu", program.relu(program.sub(centred, threshold)), up);
}
