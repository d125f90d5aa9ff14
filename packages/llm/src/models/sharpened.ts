import type { Value } from "@centella/core";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { AttentionTemperature } from "./attentionConfig.ts";

/** Factors `[T, 1, 1]` of each recording: all layers share them. */
const factorsOf = new WeakMap<ModelBuilder, Value>();

/** `q [T, H, dK]`, multiplied by the attention temperature of each position. */
export function sharpened(r: ModelBuilder, temperature: AttentionTemperature | undefined, q: Value): Value {
  if (temperature === undefined || r.contextLength <= temperature.length) return q;
  const factors = factorsOf.get(r) ?? recordFactors(r, temperature);
  factorsOf.set(r, factors);
  return r.program.mul(q, factors);
}

function recordFactors({ program, positions, contextLength, T }: ModelBuilder, { scale, length }: AttentionTemperature): Value {
  const factors = Float32Array.from({ length: contextLength }, (_, position) => 1 + scale * Math.log1p(Math.floor(position / length)));
  const table = program.constant(factors, "f32", [contextLength, 1]);
  return program.reshape(program.embedding(table, positions), { shape: [T, 1, 1] });
}
