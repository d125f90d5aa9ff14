import type { Value } from "@centella/core";
import type { Heads, Layer } from "../layer.ts";

/**
 * Heads of `x [T, d]` whose queries and gates come from one matrix, a query and its gate after each other: the heads, with norms of queries and
 * keys, and the factors `[T, H, dV]` of what the heads return.
 */
export function gatedQueries(layer: Layer, x: Value): { readonly heads: Heads; readonly gate: Value } {
  const { program, T, config } = layer.model;
  const { heads, kvHeads, keyLength: size } = config.headsOf(layer.index);
  const both = program.reshape(layer.linear("attn_q", x, { rows: 2 * heads * size }), { shape: [T, heads, 2 * size] });
  const part = (index: number): Value => program.slice(both, { axis: -1, start: index * size, end: (index + 1) * size });
  const kv = (name: string): Value => program.reshape(layer.linear(name, x, { rows: kvHeads * size }), { shape: [T, kvHeads, size] });
  return {
    heads: { q: layer.norm("attn_q_norm", part(0)), k: layer.norm("attn_k_norm", kv("attn_k")), v: kv("attn_v") },
    gate: program.sigmoid(part(1)),
  };
}
