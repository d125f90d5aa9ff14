import type { Value } from "@centella/core";
import { ModelError } from "../../errors.ts";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ModelBuilder } from "../../model/modelBuilder.ts";

/** Scores of a query at position p are multiplied by `1 + scale · ln(1 + floor(p / length))`: far into a text attention is sharper. */
export interface AttentionTemperature {
  readonly scale: number;
  readonly length: number;
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

/** What queries `[T, H, dK]` of all layers are multiplied by `[T, 1, 1]`; undefined if that is 1 within the context. */
export function attentionTemperature(m: ModelBuilder, temperature: AttentionTemperature | undefined): Value | undefined {
  const { program, positions, contextLength, T } = m;
  if (temperature === undefined || contextLength <= temperature.length) return undefined;
  const { scale, length } = temperature;
  const factors = Float32Array.from({ length: contextLength }, (_, position) => 1 + scale * Math.log1p(Math.floor(position / length)));
  const table = program.constant(factors, "f32", [contextLength, 1]);
  return program.reshape(program.embedding(table, positions), { shape: [T, 1, 1] });
}
