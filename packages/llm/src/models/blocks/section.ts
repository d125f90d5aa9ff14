import type { Value } from "@centella/core";
import type { ModelPart, PartWeights, RowRange, WeightTable } from "../../load/weights.ts";
import type { ModelBuilder } from "../../model/modelBuilder.ts";

/** A part of a model with weights of its own: a layer, or what comes before the first or after the last one. */
export class Section {
  readonly model: ModelBuilder;
  readonly weights: PartWeights;

  constructor(model: ModelBuilder, part: ModelPart, prefix: string = "", table: WeightTable = model.weights) {
    this.model = model;
    this.weights = table.of(part, prefix);
  }

  /** The model's norm over the last axis, with `name.weight` or `name`, and with `name.bias` if the file has it. */
  norm(name: string, x: Value): Value {
    const { program, config } = this.model;
    const n = lastExtent(x);
    const weight = this.weights.vector(this.weights.has(name) ? name : `${name}.weight`, n);
    const bias = this.weights.optionalVector(`${name}.bias`, n);
    if (config.norm === "layer") return program.layerNorm(x, weight, { eps: config.epsilon, ...(bias && { bias }) });
    const y = program.rmsNorm(x, weight, { eps: config.epsilon });
    return bias === undefined ? y : program.add(y, bias);
  }

  /** `(W·x)·scale + bias`, scale and bias optional: `x [..., k] -> [..., rows]` by some or all rows of `name.weight`. */
  linear(name: string, x: Value, range: RowRange): Value {
    return this.bias(name, this.product(name, x, range, this.weights.optionalVector(`${name}.scale`, 1)), range);
  }

  /** `W·x`; the file's scale is left out. */
  unscaledProduct(name: string, x: Value, range: RowRange): Value {
    this.weights.ignore(`${name}.scale`);
    return this.product(name, x, range);
  }

  /** `(W·x)·scale` */
  product(name: string, x: Value, range: RowRange, scale?: Value): Value {
    // Scales of 8-bit float activations, for formats that are not computed here.
    this.weights.ignore(`${name}.input_scale`);
    return this.model.linear(x, this.weights.matrixRows(`${name}.weight`, lastExtent(x), range), scale);
  }

  /** `y + name.bias` if the file has that bias. */
  bias(name: string, y: Value, range: RowRange): Value {
    if (!this.weights.has(`${name}.bias`)) return y;
    return this.model.program.add(y, this.weights.vectorRows(`${name}.bias`, range));
  }
}

/** The model's norm over the last axis, without a weight. */
export function unitNorm({ program, config }: ModelBuilder, x: Value): Value {
  const weight = ones(program, lastExtent(x));
  const options = { eps: config.epsilon };
  return config.norm === "layer" ? program.layerNorm(x, weight, options) : program.rmsNorm(x, weight, options);
}

/** `[n]`: a weight of 1 for each element. */
export function ones(program: ModelBuilder["program"], n: number): Value {
  return program.constant(new Float32Array(n).fill(1), "f32", [n]);
}

/** Extent of the last axis. */
export function lastExtent({ spec }: Value): number {
  const extent = spec.shape.at(-1) ?? 1;
  return typeof extent === "number" ? extent : extent.max;
}
