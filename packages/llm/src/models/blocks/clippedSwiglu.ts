import type { GatedActivation } from "./activation.ts";

/** Bound of gates, and of the values that they multiply. */
const bound = 7;
const steepness = 1.702;

/** `min(g, 7) · sigmoid(1.702 · min(g, 7)) · (clip(u, ±7) + 1)` of gate and up (OpenAI, 2025, "gpt-oss"). */
export const clippedSwiglu: GatedActivation = ({ program }, gate, up) => {
  const bounded = program.minimum(gate, program.constant(Float32Array.of(bound), "f32", [1]));
  const activated = program.mul(bounded, program.sigmoid(program.scale(bounded, { by: steepness })));
  const one = program.constant(Float32Array.of(1), "f32", [1]);
  return program.mul(activated, program.add(program.clip(up, { min: -bound, max: bound }), one));
};
