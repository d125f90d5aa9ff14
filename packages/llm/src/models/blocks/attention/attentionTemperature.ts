import type { Value } from "@centella/core";
import { ModelError } from "../../../errors.ts";
import type { MetadataReader } from "../../../load/metadataReader.ts";
import type { ModelBuilder } from "../../../model/modelBuilder.ts";

/** Factor of the scores of a query at position p, `1 + scale · ln(1 + floor((p + offset) / length))`. It makes attention sharper far into a text. */
export interface AttentionTemperature {
  readonly scale: number;
  readonly length: number;
  /** Default 0. */
  readonly offset?: number;
}

/**
 * Reads the temperature, if the file has one.
 * @param length tokens of a step
 * @throws {ModelError} if the file has a temperature without `length`
 */
export function readAttentionTemperature(file: MetadataReader, length: number | undefined): AttentionTemperature | undefined {
  const scale = file.positive("attention.temperature_scale");
  if (scale === undefined) return undefined;
  if (length !== undefined) return { scale, length };
  throw new ModelError(
    "metadata: expected attention.temperature_length beside attention.temperature_scale, got none; convert the model again",
  );
}

/** Factors `[T, 1, 1]` of the queries `[T, H, dK]` of all layers; undefined if they are 1 in the whole context. */
export function attentionTemperature(m: ModelBuilder, temperature: AttentionTemperature | undefined): Value | undefined {
  const { program, positions, contextLength, T } = m;
  if (temperature === undefined) return undefined;
  const { scale, length, offset = 0 } = temperature;
  if (contextLength + offset <= length) return undefined;
  const factorAt = (position: number): number => 1 + scale * Math.log1p(Math.floor((position + offset) / length));
  const factors = Float32Array.from({ length: contextLength }, (_, position) => factorAt(position));
  const table = program.constant(factors, "f32", [contextLength, 1]);
  return program.reshape(program.embedding(table, positions), { shape: [T, 1, 1] });
}
