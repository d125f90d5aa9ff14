import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";

/** `act(gate) · up`, or `act(up)` without a gate; or a family's own function of both. */
export type Activation = "silu" | "gelu" | "relu" | "squaredRelu" | GatedActivation;

export type GatedActivation = (m: ModelBuilder, gate: Value, up: Value) => Value;

/** The activations between the products of a feed-forward part. */
export function activated(m: ModelBuilder, activation: Activation, gate: Value | undefined, up: Value): Value {
  // Without a gate the input is its own.
  if (typeof activation === "function") return activation(m, gate ?? up, up);
  return gate === undefined ? activate(m, activation, up) : m.program.mul(activate(m, activation, gate), up);
}

/** What the rounding of activations depends on. */
export type ActivationContext = Pick<ModelBuilder, "program" | "isGeluRounded">;

/** `activation(x)`, elementwise. */
export function activate(m: ActivationContext, activation: Exclude<Activation, GatedActivation>, x: Value): Value {
  const { program } = m;
  switch (activation) {
    case "silu":
      return program.silu(x);
    case "gelu":
      return m.isGeluRounded ? halfRounded(m, program.gelu(halfRounded(m, x))) : program.gelu(x);
    case "relu":
      return program.relu(x);
    case "squaredRelu": {
      const y = program.relu(x);
      return program.mul(y, y);
    }
  }
}

/**
 * `x` rounded to the 11 significant bits of an f16 (Veltkamp's splitting): the product with `2^13 + 1` loses the 13 lowest bits of
 * `x`, and the differences leave the upper ones.
 */
function halfRounded({ program }: ActivationContext, x: Value): Value {
  const product = program.scale(x, { by: 2 ** 13 + 1 });
  return program.sub(product, program.sub(product, x));
}
