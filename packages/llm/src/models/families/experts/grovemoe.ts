import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import { readRope } from "../../blocks/attention/rope.ts";
import { embed, logits, outputNorm } from "../../blocks/ends.ts";
import { bestExperts, type ExpertsConfig, expertFactors, experts, mixture, readExperts, routerLogits } from "../../blocks/experts.ts";
import { type Layer, layersOf } from "../../blocks/layer.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** GroveMoE: groups of experts, each with a small one that its experts share. */
export const family: Family = (file) => {
  const groupSize = file.requiredSize("experts_per_group");
  const groupScale = file.requiredPositive("expert_group_scale");
  const config = readConfig(file);
  const rope = readRope(file, "neox", config);
  const moe = readExperts(file, { normalize: true });
  if (moe === undefined || moe.count % groupSize !== 0)
    throw new ModelError(
      `metadata: expected ${file.key("expert_count")} to be a multiple of experts_per_group ${groupSize}, got ${moe?.count ?? "none"}; convert the model again`,
    );
  return {
    config,
    forward(m) {
      const { program } = m;
      let x = embed(m);
      for (const layer of layersOf(m)) {
        const heads = layer.rope(layer.qkv(layer.norm("attn_norm", x), { norm: "head" }), rope);
        const middle = program.add(layer.pick(x), layer.attention(heads));
        const input = layer.norm("ffn_norm", middle);
        const mixed = experts(layer, input, moe);
        const grouped = groupExperts(layer, mixed, routerLogits(layer, input, moe), moe, groupSize);
        x = program.add(middle, program.add(mixed, m.scale(grouped, groupScale)));
      }
      return logits(m, outputNorm(m, x));
    },
  };
};

/**
 * `x [n, d] -> [n, d]`: the experts of the groups that the chosen experts belong to. Like llama.cpp, this weights group g by the router's
 * score of expert g.
 */
function groupExperts(layer: Layer, x: Value, scores: Value, config: ExpertsConfig, groupSize: number): Value {
  const { program } = layer.model;
  const { count, used } = config;
  const groups = count / groupSize;
  const groupOf = Int32Array.from({ length: count }, (_, expert) => Math.floor(expert / groupSize));
  const chosen = bestExperts(program, scores, { ...config, used: Math.min(used, groups), groups: 1 });
  const ids = program.gather(program.constant(groupOf, "i32", [count]), chosen, { axis: 0 });
  const factors = expertFactors(program, scores, ids, config);
  return mixture(layer, x, { ids, factors }, { ...config, count: groups }, { tensors: "chexps" });
}
