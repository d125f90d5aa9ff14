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

/** The norm of the embeddings, `token_embd_norm`: `[T, d] -> [T, d]`. */
export function embeddingNorm(m: ModelBuilder, x: Value): Value {
  return new Section(m, "input").norm("token_embd_norm", x);
}

/** The norm after the last layer: `[nOut, d] -> [nOut, d]`. */
export function outputNorm(m: ModelBuilder, x: Value, name: string = "output_norm"): Value {
  return new Section(m, "output").norm(name, x);
}

export interface LogitsOptions {
  /** Factor of the logits. Default 1. */
  readonly scale?: number;
  /** The logits become `cap · tanh(logits / cap)`; 0 is none. */
  readonly softcap?: number;
}

/** The forward pass's result: logits `[nOut, V]` of normed states `[nOut, d]`, or these states where a caller asked for them. */
export function logits(m: ModelBuilder, y: Value, { scale = 1, softcap = 0 }: LogitsOptions = {}): Value {
  if (m.result === "states") return states(m, y);
  const { program, config } = m;
  const section = new Section(m, "output");
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

/** `[V, d]`. Files that have one matrix for both ends name it after the first, or after the last. */
function embeddingTable({ weights, model }: Section): Value {
  const name = weights.has("token_embd.weight") || !weights.has("output.weight") ? "token_embd.weight" : "output.weight";
  return weights.matrix(name, [model.config.vocabSize, model.config.embeddingLength]);
}
