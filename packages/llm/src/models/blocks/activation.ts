import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";

/** "swigluOai" (OpenAI, 2025, "gpt-oss"): `min(g, 7) · sigmoid(1.702 · min(g, 7)) · (clip(u, ±7) + 1)` of gate and up. */
export type Activation = "silu" | "gelu" | "squaredRelu" | "swigluOai";

/** `act(gate) · up`, or `act(up)` without a gate. */
export function activated(m: ModelBuilder, activation: Activation, gate: Value | undefined, up: Value): Value {
  const { program } = m;
  if (gate === undefined) return activate(m, activation, up);
  if (activation !== "swigluOai") return program.mul(activate(m, activation, gate), up);
  const one = program.constant(Float32Array.of(1), "f32", [1]);
  return program.mul(activate(m, activation, gate), program.add(program.clip(up, { min: -outerLimit, max: outerLimit }), one));
}

/** Bound of gates, and of the values that they multiply, in gpt-oss. */
const outerLimit = 7;
const steepness = 1.702;

function activate(m: ModelBuilder, activation: Activation, x: Value): Value {
  const { program } = m;
  switch (activation) {
    case "silu":
      return program.silu(x);
    case "gelu":
      return m.isGeluRounded ? halfRounded(m, program.gelu(halfRounded(m, x))) : program.gelu(x);
    case "squaredRelu": {
      const y = program.relu(x);
      return program.mul(y, y);
    }
    case "swigluOai": {
      const bounded = program.minimum(x, program.constant(Float32Array.of(outerLimit), "f32", [1]));
      return program.mul(bounded, program.sigmoid(program.scale(bounded, { by: steepness })));
    }
  }
}

/**
 * `x` rounded to the 11 significant bits of an f16 (Veltkamp's splitting): the product with `2^13 + 1` loses the 13 lowest bits of
 * `x`, and the differences leave the upper ones.
 */
function halfRounded({ program }: ModelBuilder, x: Value): Value {
  const product = program.scale(x, { by: 2 ** 13 + 1 });
  return program.sub(product, program.sub(product, x));
}
