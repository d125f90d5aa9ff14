import type { Ref } from "@centella/core";
import type { Recording } from "../model/recording.ts";
import type { AttentionTemperature } from "./attentionConfig.ts";

/** `q [T, H, dK]`, multiplied by what its position asks for. */
export function sharpened({ program, positions, contextLength, T }: Recording, temperature: AttentionTemperature | undefined, q: Ref): Ref {
  if (temperature === undefined || contextLength <= temperature.length) return q;
  const { scale, length } = temperature;
  const factors = Float32Array.from({ length: contextLength }, (_, position) => 1 + scale * Math.log1p(Math.floor(position / length)));
  const table = program.constant(factors, "f32", [contextLength, 1]);
  return program.mul(q, program.reshape(program.embedding(table, positions), { shape: [T, 1, 1] }));
}
