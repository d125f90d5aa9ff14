import type { Value } from "@centella/core";
import type { RowRange } from "../../load/weights.ts";
import { type Activation, activated } from "./activation.ts";
import type { Section } from "./section.ts";

export interface FeedForwardOptions {
  /** `down(act(gate(x)) · up(x))`, the same with gate and up in one tensor `ffn_up`, or `down(act(up(x)))`. Default "gated". */
  readonly kind?: "gated" | "fusedGate" | "plain";
  /** Default "silu". */
  readonly activation?: Activation;
  /** Of a shared expert. Default: `activation`. */
  readonly sharedActivation?: Activation;
  /** Elements between the products. Default: as in the model's config. */
  readonly length?: number | undefined;
  /** Whether `.scale` tensors of the weights count. llama.cpp multiplies by them in some architectures and leaves them out in the others. */
  readonly scales?: boolean;
}

/** `x [n, d] -> [n, d]`, through `[n, feedForwardLength]`. */
export function feedForward(layer: Section, x: Value, options: FeedForwardOptions): Value {
  const { program, config } = layer.model;
  const { embeddingLength: d, feedForwardLength } = config;
  const { kind = "gated", activation = "silu", length: f = feedForwardLength, scales = false } = options;
  const project = (name: string, y: Value, range: RowRange): Value => projectFeedForward(layer, name, y, range, scales);
  const isFused = kind === "fusedGate";
  const gate = kind === "gated" ? project("ffn_gate", x, { rows: f }) : isFused ? project("ffn_up", x, { rows: f, of: 2 * f }) : undefined;
  const up = project("ffn_up", x, isFused ? { rows: f, from: f, of: 2 * f } : { rows: f });
  const inner = activated(layer.model, activation, gate, up);
  // Activation-aware quantisation has scaled the rows of the next matrix by these.
  const divisors = layer.weights.optionalVector("ffn.act.scales", f);
  return project("ffn_down", divisors === undefined ? inner : program.div(inner, divisors), { rows: d });
}

/** `(W·x + bias)·scale`: scale and bias are in the other order than in {@link Section.linear}, as in llama.cpp. */
export function projectFeedForward(layer: Section, name: string, x: Value, range: RowRange, scales: boolean): Value {
  if (!scales) return layer.bias(name, layer.unscaledProduct(name, x, range), range);
  const y = layer.bias(name, layer.product(name, x, range), range);
  const factor = layer.weights.optionalVector(`${name}.scale`, 1);
  return factor === undefined ? y : layer.model.program.mul(y, factor);
}
