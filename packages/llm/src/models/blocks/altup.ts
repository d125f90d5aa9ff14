import type { Dim, Value } from "@centella/core";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import { expertProduct } from "./experts.ts";
import type { Layer } from "./layer.ts";
import { Section } from "./section.ts";

/**
 * Copies of the state in alternating updates (Baykal et al., 2023, "Alternating Updates for Efficient Transformers"): several copies,
 * `[n, copies, d]`, go from layer to layer. Each layer computes the first and predicts the others.
 */
const copies = 4;

/** The embeddings `x [T, d]` and their images, of equal length: `[T, copies, d]`. */
export function spreadStates(m: ModelBuilder, x: Value): Value {
  const rest = copyProduct(m, new Section(m, "input"), "altup_proj.weight", x);
  const [T, d] = x.spec.shape as readonly [Dim, number];
  const own = m.program.reshape(x, { shape: [T, 1, d] });
  return m.program.concat([own, withLengthOf(m, rest, own)], { axis: 1 });
}

/** Each copy as a layer's input mixes them: `[n, copies, d] -> [n, copies, d]`. */
export function predictStates(layer: Layer, states: Value): Value {
  const { program } = layer.model;
  const coefficients = layer.linear("altup_predict_coef", modalities(layer, firstState(layer, states)), { rows: copies * copies });
  const [n] = states.spec.shape as readonly [Dim];
  return program.add(program.matmul(program.reshape(coefficients, { shape: [n, copies, copies] }), states), states);
}

/** The copy that layers compute: `[n, copies, d] -> [n, d]`. */
export function firstState({ model: { program } }: Layer, states: Value): Value {
  const [n, , d] = states.spec.shape as readonly [Dim, number, number];
  return program.reshape(program.slice(states, { axis: 1, start: 0, end: 1 }), { shape: [n, d] });
}

/** The predictions, moved by what the layer computed of the first: `[n, copies, d]` and `[n, d]` to `[n, copies, d]`. */
export function correctStates(layer: Layer, predicted: Value, computed: Value): Value {
  const { program } = layer.model;
  const [n, , d] = predicted.spec.shape as readonly [Dim, number, number];
  const coefficients = layer.linear("altup_correct_coef", modalities(layer, computed), { rows: copies });
  const factors = program.add(coefficients, program.constant(Float32Array.of(1), "f32", [1]));
  const news = program.sub(computed, firstState(layer, predicted));
  const moved = program.mul(program.reshape(factors, { shape: [n, copies, 1] }), program.reshape(news, { shape: [n, 1, d] }));
  return program.add(predicted, moved);
}

/** `states [n, copies, d]` with `x [n, d]` added to all copies but the first. */
export function addToOtherStates({ model: { program } }: Layer, states: Value, x: Value): Value {
  const [n, , d] = states.spec.shape as readonly [Dim, number, number];
  const isOther = program.constant(
    Float32Array.from({ length: copies }, (_, copy) => Math.min(copy, 1)),
    "f32",
    [copies, 1],
  );
  return program.add(states, program.mul(program.reshape(x, { shape: [n, 1, d] }), isOther));
}

/** The mean of the first copy and of what the others stand for, of equal length: `[n, copies, d] -> [n, d]`. */
export function mergeStates(m: ModelBuilder, states: Value): Value {
  const { program } = m;
  const [own, others] = [program.slice(states, { axis: 1, start: 0, end: 1 }), program.slice(states, { axis: 1, start: 1, end: copies })];
  const images = withLengthOf(m, copyProduct(m, new Section(m, "output"), "altup_unembd_proj.weight", others), own);
  return program.mean(program.concat([own, images], { axis: 1 }), { axis: 1 });
}

/** From -1 to 1, how much of each copy a state `x [n, d]` asks for: `[n, copies]`. */
function modalities(layer: Layer, x: Value): Value {
  const { program, config } = layer.model;
  const input = program.scale(layer.norm("altup_router_norm", x), { by: 1 / config.embeddingLength });
  return program.tanh(layer.linear("altup_router", input, { rows: copies }));
}

/** `x [n, d]` or `[n, copies - 1, d]` to `[n, copies - 1, d]`, a matrix for each copy but the first. */
function copyProduct(m: ModelBuilder, { weights }: Section, name: string, x: Value): Value {
  const { program, config } = m;
  const matrices = weights.matrix(name, [copies - 1, config.embeddingLength, config.embeddingLength]);
  const order = program.constant(
    Int32Array.from({ length: copies - 1 }, (_, copy) => copy),
    "i32",
    [1, copies - 1],
  );
  return expertProduct(m, x, matrices, program.expand(order, { shape: [x.spec.shape[0] ?? 1, copies - 1] }));
}

/** Each vector of `x [n, copies - 1, d]` scaled to the length of `like [n, 1, d]`. */
function withLengthOf({ program }: ModelBuilder, x: Value, like: Value): Value {
  const length = (y: Value): Value => program.normL2(y, { axis: -1, keepDims: true });
  return program.div(program.mul(x, length(like)), length(x));
}
