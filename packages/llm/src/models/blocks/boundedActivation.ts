import type { Activation } from "./activation.ts";

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
