import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";

/** `act(gate) · up`, or `act(up)` without a gate, with the family's activation. */
export function activated(r: ModelBuilder, { feedForward }: Family, gate: Value | undefined, up: Value): Value {
  const { program } = r;
  const act = (x: Value): Value => activate(r, feedForward?.activation ?? "silu", x);
  if (gate === undefined) return act(up);
  if (feedForward?.activation !== "swigluOai") return program.mul(act(gate), up);
  const one = program.constant(Float32Array.of(1), "f32", [1]);
  return program.mul(act(gate), program.add(program.clip(up, { min: -outerLimit, max: outerLimit }), one));
}

/** gpt-oss' bounds of gates and of what they multiply. */
const outerLimit = 7;
const steepness = 1.702;

function activate(r: ModelBuilder, activation: "silu" | "gelu" | "squaredRelu" | "swigluOai", x: Value): Value {
  const { program } = r;
  switch (activation) {
    case "silu":
      return program.silu(x);
    case "gelu":
      return r.isGeluRounded ? halfRounded(r, program.gelu(halfRounded(r, x))) : program.gelu(x);
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
 * `x`, and the differences uncover what is left of it.
 */
function halfRounded({ program }: ModelBuilder, x: Value): Value {
  const product = program.scale(x, { by: 2 ** 13 + 1 });
  return program.sub(product, program.sub(product, x));
}
