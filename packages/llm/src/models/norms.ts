import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";

/** The family's norm over the last axis, `n` elements, with weight `name.weight` and, for layer norms, `name.bias` where there is one. */
export function norm(r: ModelBuilder, { norm = "rms" }: Family, name: string, x: Value, n: number, eps: number): Value {
  const { program, weights } = r;
  const weight = weights.vector(`${name}.weight`, n);
  if (norm === "rms") return program.rmsNorm(x, weight, { eps });
  const y = centred(r, x, weight, n, eps);
  const bias = weights.optionalVector(`${name}.bias`, n);
  return bias === undefined ? y : program.add(y, bias);
}

/** `(x - mean(x)) / sqrt(variance(x) + eps) · weight` over the last axis, `n` elements; without a weight it is 1. */
export function centred({ program }: ModelBuilder, x: Value, weight: Value | undefined, n: number, eps: number): Value {
  const shifted = program.sub(x, program.mean(x, { axis: -1, keepDims: true }));
  return program.rmsNorm(shifted, weight ?? program.constant(new Float32Array(n).fill(1), "f32", [n]), { eps });
}
