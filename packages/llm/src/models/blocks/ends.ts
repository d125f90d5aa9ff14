import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { Section } from "./section.ts";

/** The tokens' embeddings `[T, d]`, multiplied by a factor. */
export function embed(m: ModelBuilder, factor: number = 1): Value {
  return m.scale(m.lookUp(embeddingTable(new Section(m, "input")), m.tokens), factor);
}

/** Learned embeddings of the tokens' positions `[T, d]`. */
export function embedPositions(m: ModelBuilder): Value {
  const { contextLength, embeddingLength } = m.config;
  const table = new Section(m, "input").weights.matrix("position_embd.weight", [contextLength, embeddingLength]);
  return m.program.embedding(table, m.positions);
}

export interface LogitsOptions {
  /** Name of the norm after the last layer. Default "output_norm". */
  readonly norm?: string;
  /** Factor of the logits. Default 1. */
  readonly scale?: number;
  /** The logits become `cap · tanh(logits / cap)`; 0 is none. */
  readonly softcap?: number;
}

/** The forward pass's result: `x [nOut, d]` normed, then multiplied with the output layer: `[nOut, V]`. States leave the pass in between. */
export function logits(m: ModelBuilder, x: Value, { norm = "output_norm", scale = 1, softcap = 0 }: LogitsOptions = {}): Value {
  const { program, config } = m;
  const section = new Section(m, "output");
  const y = section.norm(norm, x);
  if (m.result === "states") return states(m, y);
  const { weights } = section;
  const rows = config.vocabSize;
  const matrix = weights.has("output.weight") ? weights.matrix("output.weight", [rows, config.embeddingLength]) : embeddingTable(section);
  const product = section.bias("output", m.linear(y, matrix, weights.optionalVector("output.scale", 1)), { rows });
  const scaled = m.scale(product, scale);
  return softcap === 0 ? scaled : program.scale(program.tanh(program.scale(scaled, { by: 1 / softcap })), { by: softcap });
}

/** The result of a forward pass that ends before the output layer. */
export function states(m: ModelBuilder, x: Value): Value {
  m.ignore("output.weight", "output.bias", "output.scale", "output.input_scale");
  return x;
}

/** `[V, d]` */
function embeddingTable({ weights, model }: Section): Value {
  return weights.matrix("token_embd.weight", [model.config.vocabSize, model.config.embeddingLength]);
}
