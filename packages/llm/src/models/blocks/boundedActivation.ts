import type { Activation, GatedActivation } from "./activation.ts";

/** Where a gate is bounded from above: before its activation, or after it. */
export type GateBound = "before" | "after";

/** `silu(min(gate, bound)) · clip(up, ±bound)`, or `min(silu(gate), bound) · clip(up, ±bound)`; without a bound the usual product. */
export function bounded(bound: number, gateBound: GateBound): Activation {
  if (bound <= 1e-6) return "silu";
  return ({ program }, gate, up) => {
    const upper = program.constant(Float32Array.of(bound), "f32", [1]);
    const activated = gateBound === "before" ? program.silu(program.minimum(gate, upper)) : program.minimum(program.silu(gate), upper);
    return program.mul(activated, program.clip(up, { min: -bound, max: bound }));
  };
}

/** gpt-oss's bound of gates, and of the values that they multiply. */
const swigluBound = 7;
const steepness = 1.702;

/** `min(g, 7) · sigmoid(1.702 · min(g, 7)) · (clip(u, ±7) + 1)` of gate and up (OpenAI, 2025, "gpt-oss"). */
export const clippedSwiglu: GatedActivation = ({ program }, gate, up) => {
  const input = program.minimum(gate, program.constant(Float32Array.of(swigluBound), "f32", [1]));
  const activated = program.mul(input, program.sigmoid(program.scale(input, { by: steepness })));
  const one = program.constant(Float32Array.of(1), "f32", [1]);
  return program.mul(activated, program.add(program.clip(up, { min: -swigluBound, max: swigluBound }), one));
};
