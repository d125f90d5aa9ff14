import type { Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import { type RopeConfig, readRope } from "../blocks/attention/rope.ts";
import { embed, logits } from "../blocks/ends.ts";
import { type Layer, layersOf } from "../blocks/layer.ts";
import { Section, unitNorm } from "../blocks/section.ts";
import { readConfig } from "../config.ts";
import type { Family } from "../family.ts";

/**
 * HRM-Text (Wang et al., 2025, "Hierarchical Reasoning Model"): a low stack of layers runs several times, then a high stack runs once, and
 * both again. The runs of a stack share its weights. Each run has a cache of its own, which the file counts as blocks.
 */
export const family: Family = (file) => {
  const stackLength = file.requiredSize("hrm.layers_per_stack");
  const highCycles = file.requiredSize("hrm.h_cycles");
  const runs = file.requiredSize("hrm.l_cycles") + 1;
  const config = readConfig(file);
  if (config.layers !== stackLength * highCycles * runs)
    throw new ModelError(
      `metadata: expected ${file.key("block_count")} to be hrm.layers_per_stack · hrm.h_cycles · (hrm.l_cycles + 1), got ${config.layers} for ${stackLength}, ${highCycles} and ${runs - 1}; convert the model again`,
    );
  const rope = readRope(file, "neox", config);
  const embeddingScale = file.positive("embedding_scale") ?? 1;
  const isHigh = (layer: number): boolean => Math.floor(layer / stackLength) % runs === runs - 1;
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore("blk.*.attn_gate.scale");
      let high = embed(m, embeddingScale);
      let low = new Section(m, "input").weights.vector("hrm.z_l_init", config.embeddingLength);
      let x = high;
      for (const layer of layersOf(m, (index) => `blk.${(index % stackLength) + (isHigh(index) ? stackLength : 0)}`)) {
        if (layer.index % stackLength === 0) x = program.add(high, low);
        x = decoderLayer(layer, x, rope);
        if ((layer.index + 1) % stackLength !== 0) continue;
        x = unitNorm(m, x);
        if (isHigh(layer.index)) high = x;
        else low = x;
      }
      return logits(m, high);
    },
  };
};

function decoderLayer(layer: Layer, x: Value, rope: RopeConfig): Value {
  const { model } = layer;
  const input = unitNorm(model, x);
  const gate = layer.attentionGate(input, "element");
  const middle = model.program.add(layer.pick(x), layer.attention(layer.rope(layer.qkv(input), rope), { gate }));
  return model.program.add(middle, layer.feedForward(unitNorm(model, middle)));
}
