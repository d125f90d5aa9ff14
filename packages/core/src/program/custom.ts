import { callback, check, describe, isRecord, type Kinds, kind, list, object, string } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { ops } from "../ops/index.ts";
import { byteLength, type ConcreteSpec, checkSpec, elementCount, type TensorSpec } from "../spec.ts";
import type { CustomKernels } from "./customKernels.ts";
import type { AnyOp, Cost, HostTensor } from "./op.ts";

/**
 * A custom op: pure, with one output. It runs on the reference, and natively on backends for which it has a kernel. `P` are
 * its parameters: plain cloneable data.
 */
export interface CustomOp<P extends object = object> extends CustomKernels<P> {
  /** A JavaScript identifier that is not the name of a built-in op. */
  readonly name: string;
  /** Names of the input tensors, in order. */
  readonly inputs: readonly string[];
  /** Every parameter with its default. */
  readonly defaults?: P;
  /** The output's spec. Runs once, when a call is recorded. May throw, e.g. a `ShapeError`, to refuse the call. */
  infer(inputs: readonly TensorSpec[], params: P): TensorSpec;
  /** Work of a call. Default: one flop per output element, and each tensor's bytes once. */
  cost?(inputs: readonly ConcreteSpec[], params: P, output: ConcreteSpec): Cost;
  /** Scalar definition: writes every element of `output.data`. */
  reference(inputs: readonly HostTensor[], params: P, output: HostTensor): void;
}

/** One op per definition, so that calls of one definition share plans. */
const defined = new WeakMap<CustomOp, AnyOp>();

/** The op of a definition, for recorders and backends. @throws {ArgumentError} for invalid names */
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
  const { name, inputs, defaults = {} } = definition;
  for (const [option, kind] of Object.entries(kinds)) {
    const value: unknown = Reflect.get(definition, option);
    if (value !== undefined || required.has(option)) check("custom", option, value, kind);
  }
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
    kernels: kernelsOf(definition),
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

/** Names that generated code uses itself. */
const ownNames = ["y", "p", "group", "lane", "grid", "place", "main", "dims"] as const;

/** The kernels of a definition: all properties that are not core's own options. */
function kernelsOf(definition: CustomOp): CustomKernels {
  const given = Object.entries(definition).filter(([key, value]) => !Object.hasOwn(kinds, key) && value !== undefined);
  for (const [key, value] of given) check("custom", key, value, kernel, "check the spelling");
  return Object.fromEntries(given);
}

const kernel = kind("a backend's kernel", isRecord);
const required: ReadonlySet<string> = new Set(["inputs", "infer", "reference"]);
const kinds: Kinds<Omit<CustomOp, keyof CustomKernels>> = {
  name: string,
  inputs: list,
  defaults: object,
  infer: callback,
  cost: callback,
  reference: callback,
};

function isIdentifier(name: unknown): boolean {
  return typeof name === "string" && /^[A-Za-z][A-Za-z0-9_]*$/.test(name);
}
