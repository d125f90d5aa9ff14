import { UnsupportedError, type Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import { applyRope, readRope, unscaled } from "../blocks/attention/rope.ts";
import { readWindow } from "../blocks/attention/window.ts";
import { outputLayer } from "../blocks/ends.ts";
import { Layer } from "../blocks/layer.ts";
import { nextSlots } from "../blocks/nextn.ts";
import { Section } from "../blocks/section.ts";
import { type ModelConfig, readEpsilon, readVocabSize } from "../config.ts";
import { type HeadFamily, type HeadFile, requireOfTarget, requireSameSize, type Target, targetSection } from "./head.ts";

/**
 * The assistant of Gemma 4: layers without keys and values of their own. They attend to those of the model's last layer, or of the one
 * before it if they have a window. All tokens of a draft have the position of its first one.
 */
export const head: HeadFamily = (own, target) => {
  const { reader } = own;
  const width = target.config.embeddingLength;
  if (target.config.architecture !== "gemma4")
    throw new UnsupportedError("draft", `an assistant of gemma4 does not draft for models of ${target.config.architecture}`);
  const config = readAssistant(own, target);
  requireSameSize(config, target);
  requireOfTarget(reader, "embedding_length_out", width, reader.requiredSize("embedding_length_out"));
  const windows = readWindow(reader, { period: 0 });
  const widths = reader.sizes("feed_forward_length");
  const headCounts = reader.sizes("attention.head_count");
  reader.finish();
  const size = reader.requiredSize("attention.key_length");
  const localSize = reader.size("attention.key_length_swa") ?? size;
  const globalRope = readRope(reader, "neox", { keyLength: size });
  const base = reader.positive("rope.freq_base_swa") ?? 10_000;
  const localRope = { ...unscaled(globalRope), base, dims: reader.size("rope.dimension_count_swa") ?? localSize };
  const [local, global] = sharedLayers(target.config);
  requireOfTarget(reader, "attention.key_length", target.config.headsOf(global).keyLength, size);
  requireOfTarget(reader, "attention.key_length_swa", target.config.headsOf(local).keyLength, localSize);
  return {
    config,
    keeps: { width },
    sharesCache: true,
    forward(m) {
      const { program, T } = m;
      const starts = program.input("draftStarts", "i32", [T]);
      const positions = program.add(starts, program.constant(Int32Array.of(1), "i32", [1]));
      const attend = (layer: Layer, x: Value, index: number): Value => {
        const window = windows.at(index);
        const [heads, length] = [headCounts(index) ?? 1, window > 0 ? localSize : size];
        const q = program.reshape(layer.linear("attn_q", x, { rows: heads * length }), { shape: [T, heads, length] });
        const rotated = applyRope(m, window > 0 ? localRope : globalRope, layer.norm("attn_q_norm", q), positions);
        // The newest token has no keys yet, so a query is at the token before it, and sees one token less in its window.
        const tables = [{ ...m.texts, positions: starts }];
        const seen = { scale: 1, window: Math.max(0, window - 1), causal: true, tables };
        return layer.attentionOutput(m.attendTo(window > 0 ? local : global, rotated, seen));
      };
      const table = targetSection(m, target, "input").weights.matrix("token_embd.weight", [config.vocabSize, width]);
      const token = m.scale(m.lookUp(table, m.tokens), Math.sqrt(width));
      const input = new Section(m, "input");
      let x = input.linear("nextn.pre_projection", program.concat([token, m.kept.read()], { axis: -1 }), { rows: config.embeddingLength });
      for (let index = 0; index < config.layers - target.config.layers; index++) {
        const layer = new Layer(m, target.config.layers + index, `blk.${index}`);
        const middle = program.add(x, layer.norm("post_attention_norm", attend(layer, layer.norm("attn_norm", x), index)));
        const fed = layer.feedForward(layer.norm("ffn_norm", middle), { activation: "gelu", length: widths(index) ?? 1 });
        const sum = program.add(middle, layer.norm("post_ffw_norm", fed));
        x = program.mul(sum, layer.weights.vector("layer_output_scale.weight", 1));
      }
      const output = new Section(m, "output");
      const y = output.norm("output_norm", m.pick(x));
      m.kept.write(output.linear("nextn.post_projection", y, { rows: width }), m.pick(nextSlots(m)));
      m.ignore("masked_embd_centroids.weight", "masked_embd_ordering", "masked_embd_ordering.weight", "rope_freqs.weight");
      return outputLayer(output, y);
    },
  };
};

/** The layers of the model whose keys and values an assistant attends to: the last one with a window, and the last one. */
function sharedLayers({ layers, hasCache }: ModelConfig): readonly [local: number, global: number] {
  const cached = Array.from({ length: layers }, (_, layer) => layer).filter(hasCache);
  const [local, global] = cached.slice(-2);
  if (local === undefined || global === undefined)
    throw new ModelError(`draft: expected a model with 2 layers of keys and values, got ${cached.length}; use a draft made for this model`);
  return [local, global];
}

/** The assistant as layers after those of the model, whose caches it reads. */
function readAssistant({ reader }: HeadFile, target: Target): ModelConfig {
  const shared = sharedLayers(target.config);
  return {
    ...target.config,
    architecture: reader.architecture,
    vocabSize: readVocabSize(reader),
    contextLength: reader.requiredTokens("context_length"),
    embeddingLength: reader.requiredSize("embedding_length"),
    layers: target.config.layers + reader.requiredBlocks(),
    epsilon: readEpsilon(reader, "rms"),
    hasCache: (layer) => shared.includes(layer),
    nextnBlocks: 0,
    states: [],
  };
}
