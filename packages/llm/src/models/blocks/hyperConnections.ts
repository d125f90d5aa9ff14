import type { Dim, Value } from "@centella/core";
import type { MetadataReader } from "../../load/metadataReader.ts";
import type { ModelBuilder } from "../../model/modelBuilder.ts";
import type { Layer } from "./layer.ts";
import { Section, unitNorm } from "./section.ts";

/**
 * Hyper-connections (Zhu et al., 2024): several states of each token go from layer to layer. Each part of a layer reads a sum of them, and its
 * output is added to each of them, by factors that depend on the states.
 */
export interface HyperConnections {
  /** Number of states S. */
  readonly count: number;
  /** Least factor of a state in what a part reads. */
  readonly epsilon: number;
  /** Range of the factors of a part's output. */
  readonly output: { readonly least: number; readonly range: number };
  /** Rounds of Sinkhorn's algorithm on the factors that mix the states with each other; 0: they are not mixed. */
  readonly mixingRounds: number;
}

/** @throws {ModelError} naming every missing key at once */
export function readHyperConnections(file: MetadataReader): Pick<HyperConnections, "count" | "epsilon"> {
  const count = file.requiredSize("hyper_connection.count");
  const epsilon = file.requiredEpsilon("hyper_connection.epsilon");
  file.finish();
  return { count, epsilon };
}

/** The states before the first layer, copies of `x`: `[T, d] -> [T, S, d]`. */
export function copies({ program, T }: ModelBuilder, x: Value, count: number): Value {
  const d = Number(x.spec.shape[1]);
  return program.expand(program.reshape(x, { shape: [T, 1, d] }), { shape: [T, count, d] });
}

/** A part of a layer between states. */
export interface Connection {
  /** What the part reads, `[T, d]`. */
  readonly input: Value;
  /** The states after the part, `[n, S, d]`, by its output `[n, d]`. */
  after(output: Value): Value;
}

/** Connects a part of a layer with the states `[T, S, d]`. Attention returns the rows that {@link Layer.pick} leaves. */
export function connect(layer: Layer, part: "attn" | "ffn", states: Value, config: HyperConnections): Connection {
  const { count: S, epsilon, output: bounds, mixingRounds } = config;
  const { program } = layer.model;
  const extents = [S, S, ...(mixingRounds > 0 ? [S * S] : [])];
  const [read, write, mix] = affineParts(layer, `hc_${part}`, states, extents);
  const weights = above(layer.model, program.sigmoid(read!), epsilon);
  const picked = (y: Value): Value => (part === "attn" ? layer.pick(y) : y);
  return {
    input: weightedSum(layer.model, states, weights),
    after(output) {
      const [n, d] = output.spec.shape as readonly [Dim, number];
      const factors = above(layer.model, program.scale(program.sigmoid(write!), { by: bounds.range }), bounds.least);
      const added = program.mul(program.reshape(output, { shape: [n, 1, d] }), program.reshape(picked(factors), { shape: [n, S, 1] }));
      const kept = picked(states);
      if (mix === undefined) return program.add(kept, added);
      const mixing = balanced(layer.model, program.reshape(picked(mix), { shape: [n, S, S] }), config);
      return program.add(program.matmul(mixing, kept, { transposeA: true }), added);
    },
  };
}

/** What the output layer reads of the states: `[n, S, d] -> [n, d]`. */
export function collapse(m: ModelBuilder, states: Value, { count, epsilon }: Pick<HyperConnections, "count" | "epsilon">): Value {
  const [read] = affineParts(new Section(m, "output"), "output_hc", states, [count]);
  return weightedSum(m, states, above(m, m.program.sigmoid(read!), epsilon));
}

/** `scale · (W·x) + base` of all states as one normed vector x, in parts with a scale each: `[n, S, d]` to an `[n, extent]` for each extent. */
function affineParts({ model, weights }: Section, name: string, states: Value, extents: readonly number[]): readonly Value[] {
  const { program } = model;
  const [n, S, d] = states.spec.shape as readonly [Dim, number, number];
  const rows = extents.reduce((sum, extent) => sum + extent, 0);
  const normed = unitNorm(model, program.reshape(states, { shape: [n, S * d] }));
  const product = model.linear(normed, weights.matrix(`${name}_fn.weight`, [rows, S * d]));
  const base = weights.vector(`${name}_base.weight`, rows);
  const scales = weights.vector(`${name}_scale.weight`, extents.length);
  return extents.map((extent, index) => {
    const start = extents.slice(0, index).reduce((sum, before) => sum + before, 0);
    const part = { axis: -1, start, end: start + extent };
    const scaled = program.mul(program.slice(product, part), program.slice(scales, { axis: 0, start: index, end: index + 1 }));
    return program.add(scaled, program.slice(base, part));
  });
}

/** `states [n, S, d], weights [n, S] -> [n, d]` */
export function weightedSum({ program }: ModelBuilder, states: Value, weights: Value): Value {
  const [n, S] = weights.spec.shape as readonly [Dim, number];
  return program.sum(program.mul(states, program.reshape(weights, { shape: [n, S, 1] })), { axis: 1 });
}

/** Factors `[n, from, to]` whose sums over either axis are near 1: a softmax, then Sinkhorn's algorithm. */
function balanced(m: ModelBuilder, logits: Value, { epsilon, mixingRounds }: HyperConnections): Value {
  const { program } = m;
  const divided = (y: Value, axis: number): Value => program.div(y, above(m, program.sum(y, { axis, keepDims: true }), epsilon));
  let y = divided(above(m, program.softmax(logits, { axis: 2 }), epsilon), 1);
  for (let round = 1; round < mixingRounds; round++) y = divided(divided(y, 2), 1);
  return y;
}

/** `y + least` */
function above({ program }: ModelBuilder, y: Value, least: number): Value {
  return least === 0 ? y : program.add(y, program.constant(Float32Array.of(least), "f32", [1]));
}
