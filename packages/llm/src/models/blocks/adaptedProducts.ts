import type { Value } from "@centella/core";
import { expertProduct } from "./experts.ts";
import type { Heads, Layer } from "./layer.ts";
import { lastExtent } from "./section.ts";

/** Adapters that a file has for each product, of which each token has one. */
export interface ChosenAdapters {
  readonly count: number;
  readonly rank: number;
  /** The adapters of the tokens `[n, 1]`, f32. */
  readonly chosen: Value;
}

/** What the adapters add to a product: `x [n, d] -> [n, rows]`. */
function adaptation({ model, weights }: Layer, name: string, x: Value, rows: number, { count, rank, chosen }: ChosenAdapters): Value {
  const { program } = model;
  const ids = program.cast(chosen, { dtype: "i32" });
  const inner = expertProduct(model, x, weights.matrix(`${name}.lora_a`, [count, rank, lastExtent(x)]), ids);
  const added = expertProduct(model, inner, weights.matrix(`${name}.lora_b`, [count, rows, rank]), ids); // [n, 1, rows]
  return program.sum(added, { axis: 1 });
}

/** `x [n, d] -> [n, rows]`, the tokens' adapters included. */
export function adaptedProduct(layer: Layer, name: string, x: Value, rows: number, adapters: ChosenAdapters): Value {
  return layer.model.program.add(layer.unscaledProduct(name, x, { rows }), adaptation(layer, name, x, rows, adapters));
}

/** Heads of `x [T, d]`, the tokens' adapters included. */
export function adaptedHeads(layer: Layer, x: Value, adapters: ChosenAdapters): Heads {
  const { program } = layer.model;
  const { q, k, v } = layer.qkv(x);
  const adapted = (name: string, y: Value): Value => {
    const [, heads, size] = y.spec.shape.map(Number);
    const added = adaptation(layer, name, x, (heads ?? 1) * (size ?? 1), adapters);
    return program.add(y, program.reshape(added, { shape: y.spec.shape }));
  };
  return { q: adapted("attn_q", q), k: adapted("attn_k", k), v: adapted("attn_v", v) };
}

/** `x [n, d] -> [n, d]`, the tokens' adapters included. */
export function adaptedFeedForward(layer: Layer, x: Value, adapters: ChosenAdapters): Value {
  const { program, config } = layer.model;
  const project = (name: string, y: Value, rows: number): Value => adaptedProduct(layer, name, y, rows, adapters);
  const gate = program.silu(project("ffn_gate", x, config.feedForwardLength));
  return project("ffn_down", program.mul(gate, project("ffn_up", x, config.feedForwardLength)), config.embeddingLength);
}
