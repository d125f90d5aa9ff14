import type { Value } from "@centella/core";
import type { RowRange } from "../load/weights.ts";
import type { ModelBuilder } from "../model/modelBuilder.ts";
import type { Family } from "./family.ts";

/** `(W·x)·scale + bias`, scale and bias optional; `x [..., k] -> [..., rows]` by some or all rows of `name.weight`. */
export function projectAttention(r: ModelBuilder, name: string, x: Value, range: RowRange): Value {
  return vectorBias(r, name, scaledProduct(r, name, x, range), range);
}

/** `W·x`; a scale is left out, as llama.cpp does where this is used. */
export function unscaledProduct(r: ModelBuilder, name: string, x: Value, range: RowRange): Value {
  r.weights.ignore(`${name}.scale`);
  return multiply(r, name, x, range);
}

/** `(W·x)·scale`, scale optional. */
export function scaledProduct(r: ModelBuilder, name: string, x: Value, range: RowRange): Value {
  return multiply(r, name, x, range, r.weights.optionalVector(`${name}.scale`, 1));
}

/** `(W·x + bias)·scale`: the feed-forward part has them in the other order, and most families leave the scale out. */
export function projectFeedForward(r: ModelBuilder, { feedForward }: Family, name: string, x: Value, range: RowRange): Value {
  if (feedForward?.ignoresBiases) r.weights.ignore(`${name}.bias`);
  const product = multiply(r, name, x, range);
  const y = feedForward?.ignoresBiases ? product : vectorBias(r, name, product, range);
  if (feedForward?.scales) return vectorScale(r, name, y);
  r.weights.ignore(`${name}.scale`);
  return y;
}

/** `x · name.scale`, where the file has one. */
function vectorScale({ program, weights }: ModelBuilder, name: string, x: Value): Value {
  const factor = weights.optionalVector(`${name}.scale`, 1);
  return factor === undefined ? x : program.mul(x, factor);
}

/** `x + name.bias`, where the file has one. */
export function vectorBias({ program, weights }: ModelBuilder, name: string, x: Value, range: RowRange): Value {
  const offset = weights.has(`${name}.bias`) ? weights.vectorRows(`${name}.bias`, range) : undefined;
  return offset === undefined ? x : program.add(x, offset);
}

function multiply({ weights, linear }: ModelBuilder, name: string, x: Value, range: RowRange, scale?: Value): Value {
  // Scales of 8-bit float activations, for formats that are not computed here.
  weights.ignore(`${name}.input_scale`);
  return linear(x, weights.matrixRows(`${name}.weight`, lastDim(x), range), scale);
}

function lastDim({ spec }: Value): number {
  const dim = spec.shape.at(-1)!;
  return typeof dim === "number" ? dim : dim.max;
}
