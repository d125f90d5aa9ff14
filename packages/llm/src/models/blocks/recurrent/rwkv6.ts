import type { Value } from "@centella/core";
import { everyIndex, expertProduct } from "../experts.ts";
import type { Layer } from "../layer.ts";
import { lastExtent } from "../section.ts";
import { deltaScan } from "./deltaNet.ts";
import { headNorm, tokenBefore } from "./rwkv7.ts";

/** Parts of a token that RWKV-6's time mixing reads, in the order of the tensors. */
const parts = ["w", "k", "v", "r", "g"] as const;

export interface TimeMixConfig {
  /** Elements of a head's key and value. */
  readonly size: number;
  /** Heads of keys and values, which divide the heads of receptances. */
  readonly kvHeads: number;
  /** Whether heads read the state before the token and weigh the token itself; otherwise they are gated linear attention. */
  readonly hasBonus: boolean;
}

/** Time mixing (Peng et al., 2024, "Eagle and Finch", section 4.2): linear attention whose decays depend on the token. `x [T, d] -> [T, d]` */
export function timeMix6(layer: Layer, x: Value, { size, kvHeads, hasBonus }: TimeMixConfig): Value {
  const { program, T, config } = layer.model;
  const { embeddingLength: d } = config;
  const H = d / size;
  const mixed = mixtures(layer, x);
  const project = (name: string, y: Value, heads: number): Value => {
    const range = { rows: heads * size };
    const projected = layer.bias(`time_mix_${name}`, layer.unscaledProduct(`time_mix_${name}`, y, range), range);
    if (heads === H) return program.reshape(projected, { shape: [T, H, size] });
    const shared = program.reshape(projected, { shape: [T, heads, 1, size] });
    return program.reshape(program.expand(shared, { shape: [T, heads, H / heads, size] }), { shape: [T, H, size] });
  };
  const [r, key, v] = [project("receptance", mixed("r"), H), project("key", mixed("k"), kvHeads), project("value", mixed("v"), kvHeads)];
  const decay = program.reshape(decays(layer, mixed("w")), { shape: [T, H, size] });
  const gate = layer.unscaledProduct("time_mix_gate", mixed("g"), { rows: d });
  const y = hasBonus ? wkv(layer, r, key, v, decay) : linearAttention(layer, r, key, v, decay);
  const gated = program.mul(y, hasBonus ? program.silu(gate) : program.sigmoid(gate));
  return layer.unscaledProduct("time_mix_output", gated, { rows: d });
}

/** Linear attention with a state that decays: the keys shrink as the state does. All `[T, H, size]`; returns `[T, d]`. */
function linearAttention(layer: Layer, r: Value, key: Value, v: Value, decay: Value): Value {
  const { program, T, config } = layer.model;
  const k = program.sub(key, program.mul(key, decay));
  const y = decayingScan(layer, program.scale(r, { by: 1 / Math.sqrt(lastExtent(r)) }), k, v, decay);
  return program.reshape(y, { shape: [T, config.embeddingLength] });
}

/** `[T, H, size] -> [T, d]`: reads the state before the token, which is the state after the token before. */
function wkv(layer: Layer, r: Value, k: Value, v: Value, decay: Value): Value {
  const { program, T, config } = layer.model;
  const { embeddingLength: d } = config;
  const size = lastExtent(r);
  const before = (part: "key" | "value" | "decay", y: Value): Value =>
    program.reshape(tokenBefore(layer, part, program.reshape(y, { shape: [T, d] })), { shape: [T, d / size, size] });
  const seen = decayingScan(layer, r, before("key", k), before("value", v), before("decay", decay));
  const first = layer.weights.vector("time_mix_first.weight", [d / size, size]);
  const own = program.sum(program.mul(program.mul(r, first), k), { axis: -1, keepDims: true });
  return headNorm(layer, program.add(seen, program.mul(v, own)));
}

/** A scan whose state decays only. */
function decayingScan(layer: Layer, q: Value, k: Value, v: Value, decay: Value): Value {
  const { program } = layer.model;
  const zeros = program.expand(program.constant(Float32Array.of(0), "f32", [1, 1, 1]), { shape: k.spec.shape });
  return deltaScan(layer, { q, k, v, decay, a: zeros, b: zeros });
}

/** `x [T, d] -> [T, d]`: factors from 0 to 1 of the state. */
function decays(layer: Layer, x: Value): Value {
  const { program, config } = layer.model;
  const rank = layer.weights.shape("time_mix_decay_w1.weight")?.[0] ?? 1;
  const inner = program.tanh(layer.unscaledProduct("time_mix_decay_w1", x, { rows: rank }));
  const own = layer.unscaledProduct("time_mix_decay_w2", inner, { rows: config.embeddingLength });
  const exponent = program.exp(program.add(own, layer.weights.vector("time_mix_decay.weight", config.embeddingLength)));
  return program.exp(program.neg(exponent));
}

/** Each part's mixture of `x [T, d]` with what it was at the token before, by factors that depend on the token. */
function mixtures(layer: Layer, x: Value): (part: (typeof parts)[number]) => Value {
  const { model, weights } = layer;
  const { program, T } = model;
  const d = lastExtent(x);
  const change = program.sub(tokenBefore(layer, "time", x), x);
  const shape = weights.shape("time_mix_w1.weight");
  const rank = (shape?.[0] ?? parts.length) / parts.length;
  const common = program.add(x, program.mul(change, weights.vector("time_mix_lerp_x.weight", d)));
  const low = program.tanh(layer.unscaledProduct("time_mix_w1", common, { rows: parts.length * rank }));
  const perPart = program.reshape(low, { shape: [T, parts.length, rank] });
  // Each part's matrix as an expert: part p of every token takes matrix p.
  const matrices = weights.matrix("time_mix_w2.weight", [parts.length, d, rank]);
  const own = expertProduct(model, perPart, matrices, everyIndex(model, parts.length)); // [T, 5, d]
  return (part) => {
    const at = parts.indexOf(part);
    const factors = program.reshape(program.slice(own, { axis: 1, start: at, end: at + 1 }), { shape: [T, d] });
    return program.add(x, program.mul(change, program.add(factors, constantFactors(layer, at, d))));
  };
}

/** What does not depend on the token `[d]`: a row of one tensor, or a tensor of its own in old files. */
function constantFactors({ model: { program }, weights }: Layer, part: number, d: number): Value {
  if (!weights.has("time_mix_lerp_fused.weight")) return weights.vector(`time_mix_lerp_${parts[part]}.weight`, d);
  const fused = weights.vector("time_mix_lerp_fused.weight", [parts.length, d]);
  return program.reshape(program.slice(fused, { axis: 0, start: part, end: part + 1 }), { shape: [d] });
}
