import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { readRope } from "../blocks/attention/rope.ts";
import { Layer } from "../blocks/layer.ts";
import { nextSlots } from "../blocks/nextn.ts";
import { Section } from "../blocks/section.ts";
import { readConfig } from "../config.ts";
import {
  afterTarget,
  type HeadFamily,
  headEmbeddings,
  headLogits,
  headPrefix,
  readKnownTokens,
  readTargetLayers,
  requireCount,
  requireOfTarget,
  requireSameSize,
} from "./head.ts";

/** Number of the model's layers by whose inputs a head drafts. */
const featureCount = 3;

/**
 * EAGLE-3 (Li et al., 2025): one layer, which predicts the token after the next one. For position p it reads the inputs of three of the
 * model's layers at p, fused into one state, and the token at p + 1. Further tokens are predicted by its own states.
 */
export const head: HeadFamily = async (own, target) => {
  const { reader, file } = own;
  const width = target.config.embeddingLength;
  const config = readConfig(reader);
  requireSameSize(config, target);
  requireCount(reader.key("block_count"), "1 block", config.layers, 1);
  const layers = readTargetLayers(own, target);
  requireCount(reader.key("target_layers"), `${featureCount} layers`, layers.length, featureCount);
  requireOfTarget(reader, "target_hidden_size", width, reader.requiredSize("target_hidden_size"));
  reader.finish();
  const sharesTables = !file.hasTensor("token_embd.weight") || !file.hasTensor("output.weight");
  if (sharesTables) requireOfTarget(reader, "embedding_length", width, config.embeddingLength);
  const rope = readRope(reader, "norm", config);
  const known = await readKnownTokens(own, config.vocabSize);
  const normsInputs = reader.bool("norm_before_fc") ?? false;
  const addsNormed = reader.bool("norm_before_residual") ?? false;
  const fuse = (m: ModelBuilder, inputs: readonly Value[]): Value => {
    const section = new Section(m, "output", "", m.weightsOf(file, headPrefix));
    const x = m.program.concat(inputs, { axis: -1 });
    if (!normsInputs) return section.linear("fc", x, { rows: config.embeddingLength });
    const weight = section.weights.vector("enc.output_norm.weight", featureCount * width);
    return section.linear("fc", m.program.rmsNorm(x, weight, { eps: config.epsilon }), { rows: config.embeddingLength });
  };
  return {
    config: afterTarget(config, target),
    keeps: { width: config.embeddingLength, joined: { layers, keep: (m, inputs) => m.kept.write(fuse(m, inputs), m.slots) } },
    forward(m) {
      const { program } = m;
      const layer = new Layer(m, target.config.layers, "blk.0");
      const token = layer.norm("attn_norm", headEmbeddings(m, target));
      const state = m.kept.read();
      const normed = layer.norm("attn_norm_2", state);
      const heads = layer.rope(layer.qkv(program.concat([token, normed], { axis: -1 })), rope);
      const middle = program.add(layer.pick(addsNormed ? normed : state), layer.attention(heads));
      const y = m.pick(program.add(middle, layer.feedForward(layer.norm("ffn_norm", middle))));
      m.kept.write(y, m.pick(nextSlots(m)));
      m.ignore("fc.weight", "enc.output_norm.weight", "d2t");
      return headLogits(m, target, new Section(m, "output").norm("output_norm", y), known);
    },
  };
};
