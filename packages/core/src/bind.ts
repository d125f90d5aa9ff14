import type { InputData } from "./backend.ts";
import { layoutOf, typedArrayOf } from "./dtype.ts";
import { ArgumentError, DisposedError, DTypeError, ShapeError } from "./errors.ts";
import type { ProgramGraph } from "./program.ts";
import {
  type ConcreteSpec,
  type Dim,
  type DimValues,
  elementCount,
  formatShape,
  formatSpec,
  resolveSpec,
  type TensorSpec,
} from "./spec.ts";
import { checkData, Tensor } from "./tensor.ts";

/** The checked arguments of one run. */
export interface Binding {
  /** A value for every dim that the program's inputs name. */
  readonly dims: DimValues;
  readonly inputs: ReadonlyMap<string, { readonly spec: ConcreteSpec; readonly data: InputData }>;
}

/**
 * Checks a run's inputs against the program and finds the values of the symbolic dims: those given, then what the
 * shapes of tensors and the lengths of arrays tell.
 * @throws {ArgumentError | ShapeError | DTypeError | DisposedError}
 */
export function bind(program: ProgramGraph, given: Readonly<Record<string, InputData>>, explicit: DimValues = {}): Binding {
  for (const name of Object.keys(given)) {
    if (!program.inputs.has(name)) throw new ArgumentError("run", `inputs among {${[...program.inputs.keys()].join(", ")}}`, name);
  }
  for (const name of Object.keys(explicit)) {
    if (!program.dims.has(name)) throw new ArgumentError("run", `dims among {${[...program.dims.keys()].join(", ")}}`, name);
  }
  const dims: Record<string, number> = { ...explicit };
  const specs = [...program.inputs].map(([name, id]) => {
    const data = given[name];
    const { spec } = program.values[id]!;
    if (data === undefined) throw new ArgumentError("run", `input ${name} (${formatSpec(spec)})`, "nothing");
    return { name, spec, data };
  });
  for (const { name, spec, data } of specs) if (data instanceof Tensor) dimsOfTensor(name, spec, data, dims);
  for (const { name, spec, data } of specs) if (!(data instanceof Tensor)) dimOfLength(name, spec, data, dims);
  for (const [name, { max }] of program.dims) {
    const value = dims[name];
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 0 || value > max) {
      throw new ArgumentError("run", `dim ${name} from 0 to ${max}`, String(value), "split the work into several runs");
    }
  }
  const inputs = new Map<string, { spec: ConcreteSpec; data: InputData }>();
  for (const { name, spec, data } of specs) {
    const concrete = resolveSpec(spec, dims);
    if (data instanceof Tensor) checkTensor(name, concrete, data);
    else checkData(`input ${name}`, concrete, data);
    inputs.set(name, { spec: concrete, data });
  }
  return { dims, inputs };
}

/** The smallest bucket that holds `value`. Buckets are ascending, the last is the dim's maximum. */
export function bucketOf(buckets: readonly number[], value: number): number {
  return buckets.find((bucket) => value <= bucket) ?? buckets.at(-1)!;
}

function dimsOfTensor(name: string, spec: TensorSpec, tensor: Tensor, dims: Record<string, number>): void {
  if (tensor.spec.shape.length !== spec.shape.length)
    throw new ShapeError(`input ${name}`, formatShape(spec.shape), formatShape(tensor.spec.shape));
  spec.shape.forEach((dim, axis) => {
    if (typeof dim !== "number") dims[dim.name] ??= tensor.spec.shape[axis]!;
  });
}

function dimOfLength(name: string, spec: TensorSpec, data: Exclude<InputData, Tensor>, dims: Record<string, number>): void {
  const isKnown = (dim: Dim): boolean => typeof dim === "number" || dims[dim.name] !== undefined;
  const unknown = spec.shape.filter((dim): dim is Exclude<Dim, number> => !isKnown(dim));
  if (unknown.length === 0) return;
  const names = [...new Set(unknown.map((dim) => dim.name))];
  if (names.length > 1 || unknown.length > 1) {
    throw new ArgumentError("run", `values for dims ${names.join(", ")} of input ${name}`, "none", "pass them in dims");
  }
  const rest = elementCount(resolveSpec({ ...spec, shape: spec.shape.filter(isKnown) }, dims).shape);
  const { elements, bytes } = layoutOf(spec.dtype);
  const extent = ((data.byteLength / bytes) * elements) / rest;
  if (!Number.isInteger(extent)) {
    const expected = `a multiple of ${rest} elements for ${formatSpec(spec)} in a ${typedArrayOf(spec.dtype).name}`;
    throw new ShapeError(`input ${name}`, expected, `${data.length} in a ${data.constructor.name}`);
  }
  dims[names[0]!] = extent;
}

function checkTensor(name: string, spec: ConcreteSpec, tensor: Tensor): void {
  if (tensor.isDisposed) throw new DisposedError(`input ${name}`);
  if (tensor.spec.dtype !== spec.dtype) throw new DTypeError(`input ${name}`, formatSpec(spec), formatSpec(tensor.spec));
  if (formatShape(tensor.spec.shape) !== formatShape(spec.shape)) {
    throw new ShapeError(`input ${name}`, formatShape(spec.shape), formatShape(tensor.spec.shape));
  }
}
