import { type Ref, UnsupportedError } from "@centella/core";
import type { Recording } from "../recording.ts";
import type { ModelConfig } from "./config.ts";
import type { Family } from "./family.ts";
import { centred, norm } from "./norms.ts";
import { projectAttention } from "./projections.ts";
import type { RopeConfig } from "./ropeConfig.ts";

/** `x [T, d] -> [n, d]`, output projection included; `pick` leaves the n tokens that matter of `[T, …]`. */
export function attention(r: Recording, family: Family, config: ModelConfig, layer: number, x: Ref, pick: (y: Ref) => Ref): Ref {
  const { program, T } = r;
  const { heads: H, kvHeads, keyLength: dK, valueLength: dV, attention: rule, rope } = config;
  if (r.contextLength > rule.unscaledPositions) {
    throw new UnsupportedError(
      `scores scaled by position (${family.name}.attention.temperature_scale)`,
      `it sets in at position ${rule.unscaledPositions}; load the model with a contextLength of at most that`,
    );
  }
  const block = `blk.${layer}`;
  const isWindowed = rule.isWindowed(layer);
  const of = H * dK + kvHeads * (dK + dV);
  const isFused = r.weights.has(`${block}.attn_qkv.weight`);
  const part = (name: string, from: number, rows: number): Ref =>
    isFused ? projectAttention(r, `${block}.attn_qkv`, x, { rows, from, of }) : projectAttention(r, `${block}.${name}`, x, { rows });
  const positioned = (name: string, y: Ref, heads: number): Ref => {
    const normed = queryKeyNorm(r, family, config, `${block}.${name}`, y, heads); // [T, heads, dK]
    return rope?.rotates(layer, isWindowed || rule.window === 0) ? rotate(r, rope, isWindowed, normed) : normed;
  };
  const q = positioned("attn_q_norm", part("attn_q", 0, H * dK), H);
  const k = positioned("attn_k_norm", part("attn_k", H * dK, kvHeads * dK), kvHeads);
  const v = program.reshape(part("attn_v", (H + kvHeads) * dK, kvHeads * dV), { shape: [T, kvHeads, dV] });
  ignoreUnusedFactors(r);
  const y = r.attend(layer, q, k, v, { scale: rule.scale, softcap: rule.softcap, window: isWindowed ? rule.window : 0 }); // [T, H, dV]
  return projectAttention(r, `${block}.attn_output`, pick(program.reshape(y, { shape: [T, H * dV] })), { rows: config.embeddingLength });
}

/** `y [T, heads · dK] -> [T, heads, dK]`, normed as the family does. */
function queryKeyNorm(r: Recording, family: Family, config: ModelConfig, name: string, y: Ref, heads: number): Ref {
  const { program, weights, T } = r;
  const { keyLength: dK, epsilon } = config;
  const split = (z: Ref): Ref => program.reshape(z, { shape: [T, heads, dK] });
  switch (family.attention?.queryKeyNorm) {
    case undefined:
      return split(y);
    case "head":
      return norm(r, family, name, split(y), dK, epsilon);
    case "all":
      return split(norm(r, family, name, y, heads * dK, epsilon));
    case "optionalPerHead":
      if (!weights.has(`${name}.weight`)) return split(y);
      return program.mul(centred(r, split(y), undefined, dK, epsilon), weights.vector(`${name}.weight`, [heads, dK]));
  }
}

function rotate({ program, positions, ...r }: Recording, rope: RopeConfig, isWindowed: boolean, x: Ref): Ref {
  const { dims, pairing } = rope;
  const { base, scale, factors, magnitude } = isWindowed ? rope.windowed : rope.plain;
  const stored = isWindowed && rope.windowed.scale !== rope.plain.scale ? undefined : storedFactors(r, rope);
  if (stored !== undefined && factors !== undefined) {
    throw new UnsupportedError("rope scaling yarn", "the file also has factors for each frequency");
  }
  const freqFactors = stored ?? (factors && program.constant(factors, "f32", [dims / 2]));
  const y = program.rope(x, positions, { pairing, dims, base, scale, ...(freqFactors && { freqFactors }) });
  if (magnitude === 1) return y;
  const size = Number(x.spec.shape.at(-1));
  const perElement = Float32Array.from({ length: size }, (_, i) => (i < dims ? magnitude : 1));
  return program.mul(y, program.constant(perElement, "f32", [size]));
}

const longFactors = "rope_factors_long.weight";
const shortFactors = "rope_factors_short.weight";
const oneSetOfFactors = "rope_freqs.weight";

/** Divisors of the frequencies that the file has: one set (Llama 3), or one for short and one for long contexts (longrope). */
function storedFactors(
  { weights, contextLength }: Pick<Recording, "weights" | "contextLength">,
  { dims, originalContext }: RopeConfig,
): Ref | undefined {
  const forLength = contextLength > originalContext ? longFactors : shortFactors;
  return weights.optionalVector(weights.has(oneSetOfFactors) ? oneSetOfFactors : forLength, dims / 2);
}

/** Factors of the other context length, or of layers that do not rotate, are left out knowingly. */
function ignoreUnusedFactors({ weights }: Recording): void {
  weights.ignore(longFactors, shortFactors, oneSetOfFactors);
}
