import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import { centred, norm } from "./norms.ts";
import { projectAttention, scaledProduct } from "./projections.ts";
import { ignoreRopeFactors, rotate } from "./rotate.ts";
import { sharpened } from "./sharpened.ts";

/** `x [T, d] -> [n, d]`, output projection included; `pick` leaves the n tokens that matter of `[T, …]`. */
export function attention(r: ModelBuilder, family: Family, config: ModelConfig, layer: number, x: Value, pick: (y: Value) => Value): Value {
  const { program, T } = r;
  const { attention: rule, heads: H, valueLength: dV } = config;
  ignoreRopeFactors(r);
  const isWindowed = rule.isWindowed(layer);
  const { q, k, v } = queriesKeysValues(r, family, config, layer, x);
  const y = r.attend(layer, sharpened(r, rule.temperature, q), k, v, {
    scale: rule.scale,
    softcap: rule.softcap,
    window: isWindowed ? rule.window : 0,
    alibi: rule.alibi,
    causal: !config.isEncoder,
    ...(family.attention?.sinks && { sinks: r.weights.vector(`blk.${layer}.attn_sinks.weight`, H) }),
  }); // [T, H, dV]
  return attentionOutput(r, family, config, layer, pick(program.reshape(y, { shape: [T, H * dV] })));
}

/** `y [n, H · dV] -> [n, d]` */
export function attentionOutput(r: ModelBuilder, family: Family, { embeddingLength: d }: ModelConfig, layer: number, y: Value): Value {
  const name = `blk.${layer}.attn_output`;
  if (!family.attention?.ignoresOutputBias) return projectAttention(r, name, y, { rows: d });
  r.weights.ignore(`${name}.bias`);
  return scaledProduct(r, name, y, { rows: d });
}

/** `x [T, d] -> q [T, H, dK], k [T, Hkv, dK], v [T, Hkv, dV]`, normed and rotated. */
function queriesKeysValues(
  r: ModelBuilder,
  family: Family,
  config: ModelConfig,
  layer: number,
  x: Value,
): { readonly q: Value; readonly k: Value; readonly v: Value } {
  const { program, T } = r;
  const { heads: H, kvHeads, keyLength: dK, valueLength: dV, attention: rule, rope } = config;
  const block = `blk.${layer}`;
  const isWindowed = rule.isWindowed(layer);
  const of = H * dK + kvHeads * (dK + dV);
  const isFused = r.weights.has(`${block}.attn_qkv.weight`);
  const part = (name: string, from: number, rows: number): Value => {
    const y = isFused
      ? projectAttention(r, `${block}.attn_qkv`, x, { rows, from, of })
      : projectAttention(r, `${block}.${name}`, x, { rows });
    return rule.clamp === 0 ? y : program.clip(y, { min: -rule.clamp, max: rule.clamp });
  };
  const rotated = (y: Value): Value => (rope?.rotates(layer, isWindowed || rule.window === 0) ? rotate(r, rope, isWindowed, y) : y);
  const positioned = (name: string, y: Value, heads: number): Value => {
    const normed = (z: Value): Value => queryKeyNorm(r, family, config, block, name, z, heads); // [T, heads, dK]
    const split = (z: Value): Value => program.reshape(z, { shape: [T, heads, dK] });
    return family.attention?.normsRotated ? normed(rotated(split(y))) : rotated(normed(y));
  };
  return {
    q: positioned("attn_q_norm", part("attn_q", 0, H * dK), H),
    k: positioned("attn_k_norm", part("attn_k", H * dK, kvHeads * dK), kvHeads),
    v: program.reshape(part("attn_v", (H + kvHeads) * dK, kvHeads * dV), { shape: [T, kvHeads, dV] }),
  };
}

/** `y [T, heads · dK]` or `[T, heads, dK] -> [T, heads, dK]`, normed as the family does. */
function queryKeyNorm(r: ModelBuilder, family: Family, config: ModelConfig, block: string, name: string, y: Value, heads: number): Value {
  const { program, weights, T } = r;
  const { keyLength: dK, epsilon } = config;
  const split = (z: Value): Value => program.reshape(z, { shape: [T, heads, dK] });
  switch (family.attention?.queryKeyNorm) {
    case undefined:
      return split(y);
    case "head":
      return norm(r, family, `${block}.${name}`, split(y), dK, epsilon);
    case "all":
      return split(norm(r, family, `${block}.${name}`, y, heads * dK, epsilon));
    case "optionalAll": {
      if (weights.has(`${block}.attn_q_norm.weight`)) return split(norm(r, family, `${block}.${name}`, y, heads * dK, epsilon));
      weights.ignore(`${block}.${name}.weight`, `${block}.${name}.bias`);
      return split(y);
    }
    case "optionalPerHead":
      if (!weights.has(`${block}.${name}.weight`)) return split(y);
      return program.mul(centred(r, split(y), undefined, dK, epsilon), weights.vector(`${block}.${name}.weight`, [heads, dK]));
  }
}
