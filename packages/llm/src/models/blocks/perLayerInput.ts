import type { Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { activated } from "./activation.ts";
import type { Layer } from "./layer.ts";
import { Section } from "./section.ts";

/**
 * What each layer gets of the tokens beside its input, as Gemma 3n and 4 have it: `[T, layers, n]`, from a table of its own and from the
 * embeddings `x [T, d]`.
 */
export function perLayerInputs(m: ModelBuilder, x: Value, n: number): Value {
  const { program, T } = m;
  const { embeddingLength: d, layers, vocabSize } = m.config;
  const section = new Section(m, "input");
  const split = (y: Value): Value => program.reshape(y, { shape: [T, layers, n] });
  const table = section.weights.matrix("per_layer_token_embd.weight", [vocabSize, layers * n]);
  const stored = m.scale(split(m.lookUp(table, m.tokens)), Math.sqrt(n));
  const projected = m.scale(section.unscaledProduct("per_layer_model_proj", x, { rows: layers * n }), 1 / Math.sqrt(d));
  return m.scale(program.add(section.norm("per_layer_proj_norm", split(projected)), stored), Math.SQRT1_2);
}

/** What the layer adds to its result by its own inputs, of {@link perLayerInputs}: `x [n, d] -> [n, d]`. */
export function perLayerPart(layer: Layer, x: Value, inputs: Value): Value {
  const { program, T, config } = layer.model;
  const [, , n] = inputs.spec.shape as readonly [unknown, number, number];
  const own = program.slice(inputs, { axis: 1, start: layer.index, end: layer.index + 1 });
  const input = layer.pick(program.reshape(own, { shape: [T, n] }));
  const inner = activated(layer.model, "gelu", layer.unscaledProduct("inp_gate", x, { rows: n }), input);
  return layer.norm("post_norm", layer.unscaledProduct("proj", inner, { rows: config.embeddingLength }));
}
