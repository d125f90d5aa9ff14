/** Role of a tensor in the model, as far as its type depends on it. */
export type TensorRole = "output" | "embedding" | "attention-value" | "attention-key" | "attention-output" | "down" | "other";

/** Parts of a name and their roles; the first that matches counts. Source: `tensor_get_category` of llama-quant.cpp. */
const roles: readonly (readonly [part: string, role: TensorRole])[] = [
  // One matrix for query, key and value counts as a value.
  ["attn_qkv.weight", "attention-value"],
  ["attn_kv_b.weight", "attention-value"],
  ["attn_v.weight", "attention-value"],
  ["attn_k.weight", "attention-key"],
  ["attn_output.weight", "attention-output"],
  ["ffn_down", "down"],
];

export function roleOf(name: string): TensorRole {
  if (name === "output.weight") return "output";
  if (name === "token_embd.weight" || name === "per_layer_token_embd.weight") return "embedding";
  return roles.find(([part]) => name.includes(part))?.[1] ?? "other";
}

/** Weights that are small and matter: routers, recurrences, positions, embedders of other media. */
const keptParts: readonly string[] = [
  "_norm.weight",
  "ffn_gate_inp.weight",
  "ffn_gate_tid2eid.weight",
  "altup",
  "laurel",
  "per_layer_model_proj",
  "ssm_conv1d",
  "shortconv.conv.weight",
  "indexer.k_proj.weight",
  "indexer.q_proj.weight",
  ...["first", "w0", "w1", "w2", "v0", "v1", "v2", "a0", "a1", "a2", "g1", "g2", "decay_w1", "decay_w2", "lerp_fused"].map(
    (name) => `time_mix_${name}.weight`,
  ),
  "attn_rel_b.weight",
  ".position_embd",
  "sam.pos_embd",
  "sam.neck.",
  "sam.net_",
  ".rel_pos",
  ".patch_embd",
  ".patch_merger",
  "a.rvq.codebook",
  "mm.a.code_embd",
];
const keptNames: readonly string[] = ["position_embd.weight", "token_types.weight"];

/**
 * True for matrices (or stacks of them) that quantising converts; everything else keeps its type. Source: `tensor_allows_quantization` of
 * llama-quant.cpp.
 */
export function isConverted(name: string, shape: readonly number[]): boolean {
  // ggml counts no axes of one element on the outside: row-major [1, n] is a vector to it.
  const outermost = shape.findIndex((size) => size !== 1);
  const axes = outermost < 0 ? 0 : shape.length - outermost;
  if (axes < 2 || !name.endsWith("weight") || keptNames.includes(name)) return false;
  return !keptParts.some((part) => name.includes(part));
}
