import { callback, check, checkOptions, describe, type Kinds, list, object, string } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { ops } from "../ops/index.ts";
import { byteLength, type ConcreteSpec, checkSpec, elementCount, type TensorSpec } from "../spec.ts";
import type { CustomKernels } from "./customKernels.ts";
import type { AnyOp, Cost, HostTensor } from "./op.ts";

/**
 * An op of the user's own: pure, with one output. It runs wherever the reference does, and natively on the backends that it
 * brings a kernel for. `P` are its parameters, plain cloneable data.
 */
export interface CustomOp<P extends object = object> extends CustomKernels<P> {
  /** A JavaScript identifier that is no op of Centella. */
  readonly name: string;
  /** Names of the tensors that it takes, in order. */
  readonly inputs: readonly string[];
  /** Every parameter with its default. */
  readonly defaults?: P;
  /** The output's spec. Runs once, when a call is recorded. @throws to refuse a call; give a `ShapeError` or the like */
  infer(inputs: readonly TensorSpec[], params: P): TensorSpec;
  /** Work of a call; by default one flop an output element, and each tensor's bytes once. */
  cost?(inputs: readonly ConcreteSpec[], params: P, output: ConcreteSpec): Cost;
  /** Scalar definition: writes every element of `output.data`. */
  reference(inputs: readonly HostTensor[], params: P, output: HostTensor): void;
}

/** One op per definition, so that calls of the same definition can be recognised as the same. */
const defined = new WeakMap<CustomOp, AnyOp>();

/** The op of a definition: what `record`, `runtime.call` and backends take. @throws {ArgumentError} for names that will not do */
export function customOp<P extends object>(definition: CustomOp<P>): AnyOp {
  const erased = definition as CustomOp;
  check("custom", "op", erased, object, "pass { name, inputs, infer, reference }");
  let op = defined.get(erased);
  if (op === undefined) {
    op = define(erased);
    defined.set(erased, op);
  }
  return op;
}

function define(definition: CustomOp): AnyOp {
  const { name, inputs, defaults = {}, wasm, wgsl, ptx } = checkOptions("custom", definition, kinds);
  for (const required of ["infer", "reference"] as const) check("custom", required, definition[required], callback);
  check("custom", "inputs", inputs, list);
  if (!isIdentifier(name) || Object.hasOwn(ops, name) || name === "fused")
    throw new ArgumentError("custom", "name to be an identifier that is no op of Centella", describe(name), "choose another name");
  if (!inputs.every(isIdentifier) || new Set([...inputs, ...ownNames]).size < inputs.length + ownNames.length) {
    const expected = `inputs to be different identifiers, none of ${ownNames.join(", ")}`;
    throw new ArgumentError(name, expected, describe(inputs), "choose other names");
  }
  return {
    name,
    inputs,
    defaults,
    kernels: { ...(wasm && { wasm }), ...(wgsl && { wgsl }), ...(ptx && { ptx }) },
    infer(specs, params) {
      if (specs.length !== inputs.length || specs.includes(undefined))
        throw new ArgumentError(name, `${inputs.length} tensors (${inputs.join(", ")})`, String(specs.length), "pass them in this order");
      const spec = definition.infer(specs as readonly TensorSpec[], params);
      checkSpec(name, spec);
      return spec;
    },
    cost(specs, params, output) {
      const known = specs as readonly ConcreteSpec[];
      if (definition.cost !== undefined) return definition.cost(known, params, output);
      return { flops: elementCount(output.shape), bytes: [...known, output].reduce((sum, spec) => sum + byteLength(spec), 0) };
    },
    reference: (tensors, params, output) => definition.reference(tensors as readonly HostTensor[], params, output),
  };
}

/** What generated text calls things itself. */
const ownNames = ["y", "p", "group", "lane", "grid", "place", "main", "dims"] as const;

const kinds: Kinds<CustomOp> = {
  name: string,
  inputs: list,
  defaults: object,
  infer: callback,
  cost: callback,
  reference: callback,
  wasm: object,
  wgsl: object,
  ptx: object,
};

function isIdentifier(name: unknown): boolean {
  return typeof name === "string" && /^[A-Za-z][A-Za-z0-9_]*$/.test(name);
}
