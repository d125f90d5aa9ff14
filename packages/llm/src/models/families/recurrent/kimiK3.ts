import type { Value } from "@centella/core";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";
import type { GatedActivation } from "../../blocks/activation.ts";
import { latentAttention, readLatent } from "../../blocks/attention/latentAttention.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { weightedSum } from "../../blocks/hyperConnections.ts";
import { withLatentCache } from "../../blocks/latentTransformer.ts";
import { layersOf } from "../../blocks/layer.ts";
import { openFeedForward, storedExperts } from "../../blocks/openFeedForward.ts";
import { kimiDeltaBlock, readKimiDelta, unusedOfKimi, withKimiDelta } from "../../blocks/recurrent/kimiDelta.ts";
import { Section } from "../../blocks/section.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/**
 * Kimi K3: delta attention, and in some layers gated latent attention without positions; experts of a narrower vector with a shared one;
 * parts of layers read a mixture of the states before blocks of layers.
 */
export const family: Family = async (file) => {
  const latent = readLatent(file);
  const lower = file.number("kda.gate_lower_bound");
  const delta = { ...readKimiDelta(file), bound: lower === undefined ? undefined : ({ lower, rates: "negative" } as const) };
  const config = withLatentCache(withKimiDelta(readConfig(file, { isHybrid: true }), delta), latent);
  const length = file.size("expert_latent_length");
  const activation = readActivation(file);
  const experts = {
    ...storedExperts(file),
    shared: "plain",
    ...(length !== undefined && { latent: { name: "ffn_routed", length } }),
  } as const;
  const feedForward = await openFeedForward(file, { feedForward: { activation }, experts });
  const layersPerBlock = file.tokens("attn_res.block_size");
  const scale = 1 / Math.sqrt(latent.keyLength);
  return {
    config,
    forward(m) {
      const { program } = m;
      m.ignore(...unusedOfKimi, "blk.*.attn_output.scale");
      let x = embed(m);
      let kept: readonly Value[] = [];
      for (const layer of layersOf(m)) {
        const isFirstOfBlock = layersPerBlock !== undefined && layer.index % layersPerBlock === 0;
        const input = layer.norm("attn_norm", mixed(layer, "attn_res_score", kept, x));
        const gate = layer.weights.has("attn_gate.weight") && { gate: layer.attentionGate(input, "element", latent.valueLength) };
        const attended = config.hasCache(layer.index)
          ? latentAttention(layer, input, latent, { scale, ...gate })
          : kimiDeltaBlock(layer, input, delta);
        // Each block of layers begins with the attention's output alone.
        const middle = isFirstOfBlock ? attended : program.add(layer.pick(x), attended);
        kept = [...kept, ...(isFirstOfBlock ? [x] : [])].map((state) => layer.pick(state));
        x = program.add(middle, feedForward(layer, layer.norm("ffn_norm", mixed(layer, "ffn_res_score", kept, middle))));
      }
      return logits(m, outputNorm(m, mixed(new Section(m, "output"), "output_res_score", kept, x)));
    },
  };
};

/** The mixture of kept states and the newest one by scores of each state: `[n, d]`, of states `[n, d]`. */
function mixed(section: Section, name: string, kept: readonly Value[], newest: Value): Value {
  if (kept.length === 0) {
    section.weights.ignore(`${name}.weight`);
    return newest;
  }
  const { program }: ModelBuilder = section.model;
  const states = program.stack([...kept, newest], { axis: 1 }); // [n, S, d]
  const scores = program.sum(section.norm(name, states), { axis: -1 });
  return weightedSum(section.model, states, program.softmax(scores, { axis: -1 }));
}

/** `β · tanh(g / β) · sigmoid(g) · λ · tanh(u / λ)` of gate and up; u itself without a λ. */
function readActivation(file: MetadataReader): GatedActivation {
  const beta = file.requiredPositive("activation.situ_beta");
  const upBeta = file.positive("activation.situ_linear_beta");
  file.finish();
  return (m, gate, up) => {
    const { program } = m;
    const bounded = (x: Value, bound: number): Value => m.scale(program.tanh(m.scale(x, 1 / bound)), bound);
    const activated = program.mul(bounded(gate, beta), program.sigmoid(gate));
    return program.mul(activated, upBeta === undefined ? up : bounded(up, upBeta));
  };
}
