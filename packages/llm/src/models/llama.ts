import type { Ref } from "@centella/core";
import { type LlamaConfig, readLlamaConfig } from "../config.ts";
import type { Architecture, Recording } from "../recording.ts";

/** Llama 1 to 3, Mistral 7B, SmolLM and the like: pre-norm, rotary positions on neighbouring pairs, grouped queries, SwiGLU. */
export const llama: Architecture = {
  name: "llama",
  describe(metadata) {
    const config = readLlamaConfig(metadata);
    return { config, forward: (recording) => forward(recording, config) };
  },
};

/** T tokens, d embedding, H heads, V vocabulary: `tokens [T] -> logits [nOut, V]`. */
function forward(r: Recording, config: LlamaConfig): Ref {
  const { program, weights } = r;
  const { embeddingLength: d, vocabSize: V, rmsEpsilon: eps } = config;
  const embedding = weights.matrix("token_embd.weight", [V, d]);
  let x = program.embedding(embedding, r.tokens); // [T, d]
  for (let layer = 0; layer < config.layers; layer++) {
    const block = `blk.${layer}`;
    let attended = attention(r, config, layer, program.rmsNorm(x, weights.vector(`${block}.attn_norm.weight`, d), { eps })); // [T, H·dV]
    if (layer === config.layers - 1) {
      // Nothing after the last attention looks at other tokens.
      attended = program.embedding(attended, r.outRows); // [nOut, H·dV]
      x = program.embedding(x, r.outRows); // [nOut, d]
    }
    x = program.add(x, projectAttention(r, `${block}.attn_output`, attended, d));
    x = program.add(x, feedForward(r, config, block, program.rmsNorm(x, weights.vector(`${block}.ffn_norm.weight`, d), { eps })));
    weights.ignore(`${block}.attn_rot_embd.weight`);
  }
  const y = program.rmsNorm(x, weights.vector("output_norm.weight", d), { eps }); // [nOut, d]
  const output = weights.has("output.weight") ? weights.matrix("output.weight", [V, d]) : embedding;
  return r.linear(y, output); // [nOut, V]
}

/** `x [T, d] -> [T, H·dV]`, before the output projection. */
function attention(r: Recording, config: LlamaConfig, layer: number, x: Ref): Ref {
  const { program, T } = r;
  const { heads: H, kvHeads, keyLength: dK, valueLength: dV } = config;
  const block = `blk.${layer}`;
  const q = program.reshape(projectAttention(r, `${block}.attn_q`, x, H * dK), { shape: [T, H, dK] });
  const k = program.reshape(projectAttention(r, `${block}.attn_k`, x, kvHeads * dK), { shape: [T, kvHeads, dK] });
  const v = program.reshape(projectAttention(r, `${block}.attn_v`, x, kvHeads * dV), { shape: [T, kvHeads, dV] });
  const y = r.attend(layer, rope(r, config, q), rope(r, config, k), v, { scale: config.attentionScale }); // [T, H, dV]
  return program.reshape(y, { shape: [T, H * dV] });
}

function rope({ program, weights, positions }: Recording, { rope: { dims, base, scale } }: LlamaConfig, x: Ref): Ref {
  const freqFactors = weights.optionalVector("rope_freqs.weight", dims / 2);
  return program.rope(x, positions, { pairing: "interleaved", dims, base, scale, ...(freqFactors && { freqFactors }) });
}

/** `down(silu(gate(x)) * up(x))`: `[nOut, d] -> [nOut, d]`, through `[nOut, feedForwardLength]`. */
function feedForward(r: Recording, { embeddingLength: d, feedForwardLength: f }: LlamaConfig, block: string, x: Ref): Ref {
  const { program } = r;
  const gate = program.silu(projectFeedForward(r, `${block}.ffn_gate`, x, f));
  return projectFeedForward(r, `${block}.ffn_down`, program.mul(gate, projectFeedForward(r, `${block}.ffn_up`, x, f)), d);
}

/** `(W·x)·scale + bias`, scale and bias optional. */
function projectAttention(r: Recording, name: string, x: Ref, n: number): Ref {
  return bias(r, name, scale(r, name, multiply(r, name, x, n)), n);
}

/** `(W·x + bias)·scale`: the feed-forward part has them in the other order. */
function projectFeedForward(r: Recording, name: string, x: Ref, n: number): Ref {
  return scale(r, name, bias(r, name, multiply(r, name, x, n), n));
}

function multiply({ weights, linear }: Recording, name: string, x: Ref, n: number): Ref {
  // Scales of 8-bit float activations, for formats that are not computed here.
  weights.ignore(`${name}.input_scale`);
  return linear(x, weights.matrix(`${name}.weight`, [n, lastDim(x)]));
}

function scale({ program, weights }: Recording, name: string, x: Ref): Ref {
  const factor = weights.optionalVector(`${name}.scale`, 1);
  return factor === undefined ? x : program.mul(x, factor);
}

function bias({ program, weights }: Recording, name: string, x: Ref, n: number): Ref {
  const offset = weights.optionalVector(`${name}.bias`, n);
  return offset === undefined ? x : program.add(x, offset);
}

function lastDim({ spec }: Ref): number {
  const dim = spec.shape.at(-1)!;
  return typeof dim === "number" ? dim : dim.max;
}
