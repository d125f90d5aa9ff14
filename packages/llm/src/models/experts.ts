import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import { activated } from "./activate.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import type { ExpertsConfig } from "./layerConfig.ts";
import { projectFeedForward, vectorBias } from "./projections.ts";

/** `x [n, d] -> [n, d]`: the weighted sum of the outputs of the experts that were chosen for each token, and of the shared one. */
export function mixture(r: ModelBuilder, family: Family, config: ModelConfig, experts: ExpertsConfig, block: string, x: Value): Value {
  const { program, weights } = r;
  const { count, used, gating, groups, openGroups, normalize, scale, isShared } = experts;
  const { embeddingLength: d } = config;
  const rule = family.experts ?? {};
  // Files name the width of experts by different keys, or not at all.
  const isFused = weights.has(`${block}.ffn_gate_up_exps.weight`);
  const f = isFused
    ? weights.shape(`${block}.ffn_gate_up_exps.weight`)![1]! / 2
    : (weights.shape(`${block}.ffn_up_exps.weight`)?.[1] ?? config.feedForwardLength);
  const router = r.linear(x, weights.matrix(`${block}.ffn_gate_inp.weight`, [count, d]));
  const logits = vectorBias(r, `${block}.ffn_gate_inp`, router, { rows: count }); // [n, E]
  const bias = weights.optionalVector(`${block}.exp_probs_b.bias`, count);
  const ids = program.moeRoute(logits, { k: used, gating, groups, openGroups, ...(bias && { bias }) }); // [n, k]
  const chosen = program.moeWeights(logits, ids, { gating, normalize, scale }); // [n, k]

  const project = (name: string, y: Value, rows: number): Value => {
    const key = `${block}.${name}`;
    weights.ignore(`${key}.input_scale`);
    weights.ignore(...(rule.scales ? [] : [`${key}.scale`]));
    const isScaled = rule.scales && weights.has(`${key}.scale`);
    const factors = isScaled ? program.embedding(weights.vector(`${key}.scale`, [count, 1]), ids) : undefined; // [n, k, 1]
    const product = r.expertLinear(y, weights.matrix(`${key}.weight`, [count, rows, lastExtent(y)]), ids, factors); // [n, k, rows]
    return weights.has(`${key}.bias`)
      ? program.add(product, program.embedding(weights.vector(`${key}.bias`, [count, rows]), ids))
      : product;
  };
  const both = isFused ? project("ffn_gate_up_exps", x, 2 * f) : undefined; // gates first
  const part = (index: number): Value => program.slice(both!, { axis: -1, start: index * f, end: (index + 1) * f });
  const up = isFused ? part(1) : project("ffn_up_exps", x, f);
  const gate = isFused ? part(0) : weights.has(`${block}.ffn_gate_exps.weight`) ? project("ffn_gate_exps", x, f) : undefined;
  const inner = activated(r, family, gate, up);
  const outputs = project("ffn_down_exps", inner, d); // [n, k, d]
  const [n] = x.spec.shape;
  const weighted = program.mul(outputs, program.reshape(chosen, { shape: [n!, used, 1] }));
  const routed = program.sum(weighted, { axis: 1 }); // [n, d]
  return !isShared ? routed : program.add(routed, sharedExpert(r, family, config, block, x));
}

/** `x [n, d] -> [n, d]` */
function sharedExpert(r: ModelBuilder, family: Family, { embeddingLength: d }: ModelConfig, block: string, x: Value): Value {
  const { program, weights } = r;
  const rows = weights.shape(`${block}.ffn_up_shexp.weight`)?.[0] ?? d;
  const project = (name: string, y: Value, of: number): Value => projectFeedForward(r, family, `${block}.${name}`, y, { rows: of });
  const inner = activated(r, family, project("ffn_gate_shexp", x, rows), project("ffn_up_shexp", x, rows));
  const y = project("ffn_down_shexp", inner, d);
  if (family.experts?.shared !== "gated") return y;
  const gate = r.linear(x, weights.matrix(`${block}.ffn_gate_inp_shexp.weight`, [1, d])); // [n, 1]
  return program.mul(y, program.sigmoid(gate));
}

function lastExtent({ spec }: Value): number {
  return Number(spec.shape.at(-1));
}
