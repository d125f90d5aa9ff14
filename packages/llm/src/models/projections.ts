import type { Ref } from "@centella/core";
import type { RowRange } from "../load/weights.ts";
import type { Recording } from "../model/recording.ts";
import type { Family } from "./family.ts";

/** `(W·x)·scale + bias`, scale and bias optional; `x [..., k] -> [..., rows]` by some or all rows of `name.weight`. */
export function projectAttention(r: Recording, name: string, x: Ref, range: RowRange): Ref {
  return vectorBias(r, name, scaledProduct(r, name, x, range), range);
}

/** `W·x`; a scale is left out, as llama.cpp does where this is used. */
export function unscaledProduct(r: Recording, name: string, x: Ref, range: RowRange): Ref {
  r.weights.ignore(`${name}.scale`);
  return multiply(r, name, x, range);
}

/** `(W·x)·scale`, scale optional. */
export function scaledProduct(r: Recording, name: string, x: Ref, range: RowRange): Ref {
  return multiply(r, name, x, range, r.weights.optionalVector(`${name}.scale`, 1));
}

/** `(W·x + bias)·scale`: the feed-forward part has them in the other order, and most families leave the scale out. */
export function projectFeedForward(r: Recording, { feedForward }: Family, name: string, x: Ref, range: RowRange): Ref {
  if (feedForward?.ignoresBiases) r.weights.ignore(`${name}.bias`);
  const product = multiply(r, name, x, range);
  const y = feedForward?.ignoresBiases ? product : vectorBias(r, name, product, range);
  if (feedForward?.scales) return vectorScale(r, name, y);
  r.weights.ignore(`${name}.scale`);
  return y;
}

/** `x · name.scale`, where the file has one. */
function vectorScale({ program, weights }: Recording, name: string, x: Ref): Ref {
  const factor = weights.optionalVector(`${name}.scale`, 1);
  return factor === undefined ? x : program.mul(x, factor);
}

/** `x + name.bias`, where the file has one. */
export function vectorBias({ program, weights }: Recording, name: string, x: Ref, range: RowRange): Ref {
  const offset = weights.has(`${name}.bias`) ? weights.vectorRows(`${name}.bias`, range) : undefined;
  return offset === undefined ? x : program.add(x, offset);
}

function multiply({ weights, linear }: Recording, name: string, x: Ref, range: RowRange, scale?: Ref): Ref {
  // Scales of 8-bit float activations, for formats that are not computed here.
  weights.ignore(`${name}.input_scale`);
  return linear(x, weights.matrixRows(`${name}.weight`, lastDim(x), range), scale);
}

function lastDim({ spec }: Ref): number {
  const dim = spec.shape.at(-1)!;
  return typeof dim === "number" ? dim : dim.max;
}
