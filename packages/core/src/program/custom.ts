import { callback, check, checkOptions, describe, type Kinds, list, object, string } from "@centella/quant/checks";
import { ArgumentError } from "../errors.ts";
import { ops } from "../ops/index.ts";
import { byteLength, type ConcreteSpec, checkSpec, elementCount, type TensorSpec } from "../spec.ts";
import type { AnyOp, Cost, HostTensor } from "./op.ts";

/** One call of a custom op in one run, every extent a number. */
export interface CustomCall<P extends object = object> {
  readonly inputs: readonly ConcreteSpec[];
  readonly params: P;
  readonly output: ConcreteSpec;
}

/**
 * One WebGPU dispatch. The text sees its tensors as storage arrays named as the op's inputs and `y`, `array<i32>` for i32 and
 * `array<f32>` for f32; of a float input of any storage (f16, bf16, block types) `load_<name>(i)` is element `i` as f32. An
 * output is f32 or i32.
 */
export interface WgslKernel<P extends object = object> {
  /** Statements that see `group` (the index of the workgroup), `lane` (the index in it) and `p`, whose fields are the uniforms. */
  readonly body: string;
  /** Functions and `var<workgroup>` declarations that the body uses. */
  readonly declarations?: string;
  /** Invocations of a workgroup (64). */
  readonly lanes?: number;
  /** Numbers that {@link WgslKernel.dispatch} gives, by name. */
  readonly uniforms?: Readonly<Record<string, "u32" | "i32" | "f32">>;
  /** How many workgroups a run takes (0 skips the dispatch), and the values of the uniforms. */
  dispatch(call: CustomCall<P>): { readonly groups: number; readonly values?: Readonly<Record<string, number>> };
}

/**
 * A WASM function over tensors in the backend's memory, in their stored form (no block types), computed by one thread. A call
 * cannot be interrupted: split what takes long.
 */
export interface WasmKernel<P extends object = object> {
  /**
   * A module in binary form that imports `env.memory` (up to 65,536 pages; shared if told so), and exports a function `run` that
   * takes an i32 address for each input, one for the output, then {@link WasmKernel.args}. Memory below a tensor's address is
   * not its own; up to 15 bytes behind its end may be read and not written.
   */
  module(memory: { readonly shared: boolean }): Uint8Array<ArrayBuffer>;
  /** What `run` takes after the addresses: numbers in the order of its parameters. */
  args?(call: CustomCall<P>): readonly number[];
}

/** What a PTX kernel is generated for: dims at the largest value that the launch must serve; see {@link PtxKernel}. */
export interface PtxCall<P extends object = object> extends CustomCall<P> {
  /** Byte offset of a symbolic dim's u32 value, in this run, in the buffer of dims. */
  dimOffset(name: string): number;
  /** The specs as recorded, symbolic dims and all. */
  readonly symbolic: { readonly inputs: readonly TensorSpec[]; readonly output: TensorSpec };
}

/**
 * One CUDA launch. The entry takes a `.u64` parameter for each input, one for the output and one for the buffer of dims.
 * Tensors lie as f32, i32, f16 or bf16; block types as f32.
 */
export interface PtxKernel<P extends object = object> {
  launch(call: PtxCall<P>): {
    /** A whole module. */
    readonly ptx: string;
    readonly entry: string;
    readonly grid: readonly [number, number, number];
    readonly block: readonly [number, number, number];
    /** Dynamic shared memory in bytes (0). */
    readonly sharedBytes?: number;
  };
}

/** Kernels of an op that backends do not know. One that is absent makes the op unsupported on that backend. */
export interface CustomKernels<P extends object = object> {
  readonly wasm?: WasmKernel<P>;
  readonly wgsl?: WgslKernel<P>;
  readonly ptx?: PtxKernel<P>;
}

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
