import { UnsupportedError, type Value } from "@centella/core";
import type { RowRange } from "../load/weights.ts";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import { activated } from "./activate.ts";
import { attention } from "./attention.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import { norm } from "./norms.ts";
import { projectFeedForward, vectorBias } from "./projections.ts";
import type { RareLayers } from "./rareLayers.ts";

/** T tokens, d embedding, H heads, V vocabulary: `tokens [T] -> logits [nOut, V]`, or the states `[nOut, d]` before the output layer. */
export function forward(r: ModelBuilder, family: Family, config: ModelConfig, rare: RareLayers): Value {
  const { program, weights } = r;
  const { embeddingLength: d, vocabSize: V, epsilon } = config;
  weights.ignore(...(family.ignored ?? []));
  const embedding = weights.matrix("token_embd.weight", [V, d]);
  let x = scaled(r, r.lookUp(embedding, r.tokens), config.embeddingScale); // [T, d]
  const hasTable = family.positions === "learned" || (family.positions === "learnedIfPresent" && weights.has("position_embd.weight"));
  if (hasTable) {
    const positions = weights.matrix("position_embd.weight", [config.contextLength, d]);
    x = program.add(x, program.embedding(positions, r.positions));
  }
  if (family.tokenTypes) x = program.add(x, tokenType(r, d));
  if (family.embeddingNorm) x = norm(r, family, "token_embd_norm", x, d, epsilon);
  for (let layer = 0; layer < config.layers; layer++) {
    x = block(r, family, config, rare, layer, x);
    weights.failEarly();
  }
  const y = family.norms === "sums" ? x : norm(r, family, family.outputNorm ?? "output_norm", x, d, epsilon); // [nOut, d]
  if (r.result === "states") {
    r.ignore("output.weight", "output.bias", "output.scale", "output.input_scale");
    return y;
  }
  const output = weights.has("output.weight") ? weights.matrix("output.weight", [V, d]) : embedding;
  const logits = vectorBias(r, "output", r.linear(y, output, weights.optionalVector("output.scale", 1)), { rows: V });
  return capped(r, scaled(r, logits, config.logitScale), config.logitSoftcap); // [nOut, V]
}

/** The embedding `[1, d]` of the first type of token, 0 where the file has none. */
function tokenType({ program, weights }: ModelBuilder, d: number): Value {
  const types = weights.shape("token_types.weight")?.[0];
  if (types === undefined) return program.constant(new Float32Array(d), "f32", [1, d]);
  const table = weights.matrixRows("token_types.weight", d, { rows: 1, of: types });
  return program.embedding(table, program.constant(new Int32Array(1), "i32", [1]));
}

/** `x [T, d] -> [T, d]`, the last layer's `-> [nOut, d]`: nothing after the last attention looks at other tokens. */
function block(r: ModelBuilder, family: Family, config: ModelConfig, rare: RareLayers, layer: number, x: Value): Value {
  const { program, weights, outRows } = r;
  const { embeddingLength: d, epsilon } = config;
  const name = `blk.${layer}`;
  const pick = (y: Value): Value => (layer === config.layers - 1 ? program.embedding(y, outRows) : y);
  const before = (part: string, y: Value): Value => (family.norms === "after" ? y : norm(r, family, `${name}.${part}`, y, d, epsilon));
  const after = (part: string, y: Value): Value =>
    scaled(r, (family.norms ?? "before") === "before" ? y : norm(r, family, `${name}.${part}`, y, d, epsilon), config.residualScale);
  weights.ignore(`${name}.attn_rot_embd.weight`);
  const mix = config.hasCache(layer) ? (rare.latentAttention ?? attention) : rare.recurrent!;
  if (family.norms === "sums") {
    const middle = norm(r, family, `${name}.attn_output_norm`, program.add(pick(x), mix(r, family, config, layer, x, pick)), d, epsilon);
    return norm(
      r,
      family,
      `${name}.layer_output_norm`,
      program.add(middle, feedForward(r, family, config, rare, name, middle)),
      d,
      epsilon,
    );
  }

  const input = before("attn_norm", x);
  // The larger Falcons have a norm for each part of their parallel blocks, named in another way.
  const attentionInput = weights.has(`${name}.attn_norm_2.weight`) ? before("attn_norm_2", x) : input;
  const mixed = mix(r, family, config, layer, attentionInput, pick);
  const attended = after("post_attention_norm", mixed);
  const rest = pick(x);
  if (family.feedForward?.kind === "none") return program.add(rest, attended);
  const feedForwardNorm = family.feedForward?.norm ?? "ffn_norm";
  const hasNorm = weights.has(`${name}.${feedForwardNorm}.weight`);
  if (config.parallel === "always" || (config.parallel === "withoutFeedForwardNorm" && !hasNorm)) {
    const fed = feedForward(r, family, config, rare, name, hasNorm ? before(feedForwardNorm, rest) : pick(input));
    return program.add(program.add(rest, attended), after("post_ffw_norm", fed));
  }
  const middle = program.add(rest, attended);
  return program.add(middle, after("post_ffw_norm", feedForward(r, family, config, rare, name, before(feedForwardNorm, middle))));
}

/** `[nOut, d] -> [nOut, d]`, through `[nOut, feedForwardLength]`. */
function feedForward(r: ModelBuilder, family: Family, config: ModelConfig, rare: RareLayers, block: string, x: Value): Value {
  const { embeddingLength: d, feedForwardLength: f, experts } = config;
  if (r.weights.has(`${block}.ffn_gate_inp.weight`)) {
    if (experts !== undefined) return rare.mixture!(r, family, config, experts, block, x);
    throw new UnsupportedError(
      `${family.name} with experts`,
      `the description of this family has none, the file has ${block}.ffn_gate_inp`,
    );
  }
  const kind = family.feedForward?.kind ?? "gated";
  const project = (name: string, y: Value, range: RowRange): Value => projectFeedForward(r, family, `${block}.${name}`, y, range);
  const isFused = kind === "fusedGate";
  const gate = kind === "gated" ? project("ffn_gate", x, { rows: f }) : isFused ? project("ffn_up", x, { rows: f, of: 2 * f }) : undefined;
  const up = project("ffn_up", x, isFused ? { rows: f, from: f, of: 2 * f } : { rows: f });
  const inner = activated(r, family, gate, up);
  // Activation-aware quantisation has scaled the rows of the next matrix by these.
  const divisors = r.weights.optionalVector(`${block}.ffn.act.scales`, f);
  return project("ffn_down", divisors === undefined ? inner : r.program.div(inner, divisors), { rows: d });
}

function scaled({ program }: ModelBuilder, x: Value, factor: number): Value {
  return factor === 1 ? x : program.scale(x, { by: factor });
}

/** `cap · tanh(x / cap)`; 0 leaves `x` as it is. */
function capped({ program }: ModelBuilder, x: Value, cap: number): Value {
  return cap === 0 ? x : program.scale(program.tanh(program.scale(x, { by: 1 / cap })), { by: cap });
}
