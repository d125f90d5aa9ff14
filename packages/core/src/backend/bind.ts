import { check, describe, elementAt, entryOf, isAttached, object } from "@centella/quant/checks";
import { layoutOf, typedArrayOf } from "../dtype.ts";
import { ArgumentError, DisposedError, DTypeError, ShapeError } from "../errors.ts";
import { type ProgramGraph, specOf } from "../program/programGraph.ts";
import {
  type ConcreteSpec,
  type Dim,
  type DimValues,
  elementCount,
  formatShape,
  formatSpec,
  resolveSpec,
  sameShape,
  type TensorSpec,
} from "../spec.ts";
import { checkData, Tensor } from "../tensor.ts";
import type { InputData } from "./backend.ts";

const noDims: DimValues = {};

/** The checked arguments of one run. */
export interface Binding {
  /** A value for every dim that the program's inputs name. */
  readonly dims: DimValues;
  readonly inputs: ReadonlyMap<string, { readonly spec: ConcreteSpec; readonly data: InputData }>;
}

/** Binds the inputs of a plan's runs. What follows from the last run's extents is kept, because most runs repeat them. */
export class Binder {
  readonly #program: ProgramGraph;
  #last: ArrayBinding | undefined;

  constructor(program: ProgramGraph) {
    this.#program = program;
  }

  /** See {@link bind}. */
  bind(given: Readonly<Record<string, InputData>>, explicit: DimValues = noDims): Binding {
    const repeated = this.#last && repeat(this.#last, given, explicit);
    if (repeated !== undefined) {
      this.#last = repeated;
      return repeated.binding;
    }
    const binding = bind(this.#program, given, explicit);
    const arrays = [...binding.inputs].flatMap(([name, { spec, data }]) =>
      data instanceof Tensor ? [] : [{ name, type: typedArrayOf(spec.dtype), bytes: data.byteLength }],
    );
    const bytes = arrays.reduce((sum, array) => sum + array.bytes, 0);
    const isKept = arrays.length === binding.inputs.size && bytes <= maxKeptBytes;
    this.#last = isKept ? { binding, explicit: { ...explicit }, arrays } : undefined;
    return binding;
  }
}

/** Bytes of arrays that a plan may keep alive. The checks of larger ones take no time beside their copies. */
const maxKeptBytes = 2 ** 16;

/** A binding whose inputs are arrays. */
interface ArrayBinding {
  readonly binding: Binding;
  /** The dims that the caller gave. */
  readonly explicit: DimValues;
  readonly arrays: readonly { readonly name: string; readonly type: ReturnType<typeof typedArrayOf>; readonly bytes: number }[];
}

/** Binds arrays if the same dims and arrays of the same types and sizes were bound before: then all checks succeed. */
function repeat(last: ArrayBinding, given: Readonly<Record<string, InputData>>, explicit: DimValues): ArrayBinding | undefined {
  const { binding, arrays } = last;
  if (arrays.length === 0 || countKeys(given) !== arrays.length || countKeys(explicit) !== countKeys(last.explicit)) return undefined;
  for (const name in explicit) if (explicit[name] !== last.explicit[name]) return undefined;
  let isSame = true;
  for (const { name, type, bytes } of arrays) {
    const data = given[name];
    // The memory of an empty array may be detached.
    if (!(data instanceof type) || data.byteLength !== bytes || (bytes === 0 && !isAttached(data))) return undefined;
    isSame &&= data === binding.inputs.get(name)?.data;
  }
  if (isSame) return last;
  const inputs = new Map([...binding.inputs].map(([name, { spec }]) => [name, { spec, data: given[name]! }]));
  return { ...last, binding: { dims: binding.dims, inputs } };
}

function countKeys(object: object): number {
  let count = 0;
  for (const _ in object) count++;
  return count;
}

/**
 * Checks a run's inputs against the program and finds the values of the symbolic dims: the given ones, then those that follow from
 * the shapes of tensors and the lengths of arrays.
 * @throws {ArgumentError | ShapeError | DTypeError | DisposedError}
 */
export function bind(program: ProgramGraph, given: Readonly<Record<string, InputData>>, explicit: DimValues = noDims): Binding {
  check("run", "inputs", given, object, "pass { name: data }");
  for (const name in given) {
    if (!program.inputs.has(name)) throw new ArgumentError("run", `inputs among {${[...program.inputs.keys()].join(", ")}}`, name);
  }
  for (const name in explicit) {
    if (!program.dims.has(name)) throw new ArgumentError("run", `dims among {${[...program.dims.keys()].join(", ")}}`, name);
    if (explicit[name] !== undefined) checkDim(program, name, explicit[name]);
  }
  const tensors: Input[] = [];
  for (const [name, id] of program.inputs) {
    const data = given[name];
    const spec = specOf(program, id);
    if (data === undefined) throw new ArgumentError("run", `input ${name} (${formatSpec(spec)})`, "nothing");
    if (!(data instanceof Tensor || ArrayBuffer.isView(data))) {
      const expected = `a tensor or a ${typedArrayOf(spec.dtype).name} for ${formatSpec(spec)}`;
      throw new DTypeError(`input ${name}`, expected, describe(data), "pass the stored form of the dtype");
    }
    tensors.push({ name, spec, data });
  }
  const dims = program.dims.size === 0 ? noDims : bindDims(program, tensors, explicit);
  const inputs = new Map<string, { spec: ConcreteSpec; data: InputData }>();
  for (const { name, spec: symbolic, data } of tensors) {
    const spec = resolveSpec(symbolic, dims);
    if (data instanceof Tensor) checkTensor(name, spec, data);
    else checkData(`input ${name}`, spec, data);
    inputs.set(name, { spec, data });
  }
  return { dims, inputs };
}

interface Input {
  readonly name: string;
  readonly spec: TensorSpec;
  readonly data: InputData;
}

/** The given dims, and the remaining ones from the inputs: tensors first. */
function bindDims(program: ProgramGraph, inputs: readonly Input[], explicit: DimValues): DimValues {
  const dims: Record<string, number> = { ...explicit };
  for (const { name, spec, data } of inputs) if (data instanceof Tensor) dimsOfTensor(name, spec, data, dims);
  for (const { name, spec, data } of inputs) if (!(data instanceof Tensor)) dimOfLength(name, spec, data, dims);
  for (const name of program.dims.keys()) {
    const value = dims[name];
    if (value !== undefined) checkDim(program, name, value);
  }
  return dims;
}

function checkDim(program: ProgramGraph, name: string, value: number): void {
  const { max } = entryOf(program.dims, name);
  if (!Number.isSafeInteger(value) || value < 0 || value > max)
    throw new ArgumentError("run", `dim ${name} from 0 to ${max}`, describe(value), "split the work into several runs");
}

/** @throws {ArgumentError} if a synchronous run gets a tensor, whose content may not be available yet */
export function requireArrays(given: Readonly<Record<string, InputData>>): void {
  for (const name in given)
    if (given[name] instanceof Tensor) throw new ArgumentError("runSync", `an array for ${name}`, "a tensor", "give its dataSync()");
}

function dimsOfTensor(name: string, spec: TensorSpec, tensor: Tensor, dims: Record<string, number>): void {
  if (tensor.spec.shape.length !== spec.shape.length)
    throw new ShapeError(`input ${name}`, formatShape(spec.shape), formatShape(tensor.spec.shape));
  spec.shape.forEach((dim, axis) => {
    if (typeof dim !== "number") dims[dim.name] ??= elementAt(tensor.shape, axis);
  });
}

function dimOfLength(name: string, spec: TensorSpec, data: Exclude<InputData, Tensor>, dims: Record<string, number>): void {
  const isKnown = (dim: Dim): boolean => typeof dim === "number" || dims[dim.name] !== undefined;
  const unknown = spec.shape.filter((dim): dim is Exclude<Dim, number> => !isKnown(dim));
  const [only] = unknown;
  if (only === undefined) return;
  const names = [...new Set(unknown.map((dim) => dim.name))];
  if (unknown.length > 1) {
    throw new ArgumentError("run", `values for dims ${names.join(", ")} of input ${name}`, "none", "pass them in dims");
  }
  const rest = elementCount(resolveSpec({ ...spec, shape: spec.shape.filter(isKnown) }, dims).shape);
  const { elements, bytes } = layoutOf(spec.dtype);
  const extent = ((data.byteLength / bytes) * elements) / rest;
  if (!Number.isInteger(extent)) {
    const expected = `a multiple of ${rest} elements for ${formatSpec(spec)} in a ${typedArrayOf(spec.dtype).name}`;
    throw new ShapeError(`input ${name}`, expected, `${data.length} in a ${data.constructor.name}`);
  }
  dims[only.name] = extent;
}

function checkTensor(name: string, spec: ConcreteSpec, tensor: Tensor): void {
  if (tensor.isDisposed) throw new DisposedError(`input ${name}`);
  if (tensor.spec.dtype !== spec.dtype) throw new DTypeError(`input ${name}`, formatSpec(spec), formatSpec(tensor.spec));
  if (!sameShape(tensor.spec.shape, spec.shape)) {
    throw new ShapeError(`input ${name}`, formatShape(spec.shape), formatShape(tensor.spec.shape));
  }
}
