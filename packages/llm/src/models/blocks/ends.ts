import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { Section } from "./section.ts";

/** The tokens' embeddings `[T, d]`, multiplied by a factor; or those of other ids `[T]`. */
export function embed(m: ModelBuilder, factor: number = 1, ids: Value = m.tokens): Value {
  return m.scale(m.lookUp(embeddingTable(new Section(m, "input")), ids), factor);
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

/** The norm after the last layer: `[nOut, d] -> [nOut, d]`; or `[T, d] -> [nOut, d]` in models that keep the states of all tokens. */
export function outputNorm(m: ModelBuilder, x: Value, name?: string): Value {
  return keepStates(m, lastNorm(m, x, name));
}

/** The norm after the last layer, `[n, d] -> [n, d]`, of models that keep other states than those after it. */
export function lastNorm(m: ModelBuilder, x: Value, name: string = "output_norm"): Value {
  return new Section(m, "output").norm(name, m.kept.noteInput(m.config.layers, x));
}

/** Keeps the states `[T, …]` of all tokens, if a block that predicts further tokens reads them. Returns the requested rows `[nOut, …]`. */
export function keepStates(m: ModelBuilder, x: Value): Value {
  if (!m.kept.hasLast) return x;
  m.kept.writeLast(x);
  return m.pick(x);
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
  const { program } = m;
  const scaled = m.scale(outputLayer(new Section(m, "output"), y), scale);
  return softcap === 0 ? scaled : program.scale(program.tanh(program.scale(scaled, { by: 1 / softcap })), { by: softcap });
}

/** `y [n, d] -> [n, rows]` by the output layer, or by the embeddings in files without one. */
export function outputLayer(section: Section, y: Value, rows: number = section.model.config.vocabSize): Value {
  const { weights, model } = section;
  const hasOwn = weights.has("output.weight");
  const matrix = hasOwn ? weights.matrix("output.weight", [rows, model.config.embeddingLength]) : embeddingTable(section);
  return section.bias("output", model.linear(y, matrix, weights.optionalVector("output.scale", 1)), { rows });
}

/** The result of a forward pass that ends before the output layer. */
export function states(m: ModelBuilder, x: Value): Value {
  m.ignore("output.weight", "output.bias", "output.scale", "output.input_scale");
  return x;
}

/** `[V, d]`. Files that have one matrix for both ends name it after the first, or after the last. */
export function embeddingTable({ weights, model }: Section): Value {
  const name = weights.has("token_embd.weight") || !weights.has("output.weight") ? "token_embd.weight" : "output.weight";
  return weights.matrix(name, [model.config.vocabSize, model.config.embeddingLength]);
}
