import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec, TensorSpec } from "../spec.ts";
import type { CustomKernels } from "./customKernels.ts";

/** Work of one op call: `flops` counts a multiply-add as two, `bytes` each input and output once. */
export interface Cost {
  readonly flops: number;
  readonly bytes: number;
}

/**
 * A tensor for an op's scalar reference: values decoded to numbers (f16, bf16 and block types as `Float32Array`),
 * row-major, `data.length` equal to the number of elements.
 */
export interface HostTensor {
  readonly spec: ConcreteSpec;
  readonly data: TypedArray;
  /**
   * For block types: the blocks that `data` was decoded from. In an output: memory for blocks, which only `quantize` fills.
   * Absent if an op has written `data`.
   */
  readonly stored?: TypedArray;
}

/** The parameters of an op without parameters. */
export type NoParams = Readonly<Record<never, never>>;

/**
 * One `T` for each tensor of a call: the required inputs in order, then the optional ones, which are undefined if the call
 * leaves them out. For a variadic op: a list of one or more.
 */
export type PerInput<Inputs extends readonly string[], Optional extends readonly string[], T> = readonly [
  ...{ readonly [K in keyof Inputs]: T },
  ...{ readonly [K in keyof Optional]: T | undefined },
];

/**
 * The definition of an op: the inputs that it accepts, its cost, and its scalar reference. Backends implement it with kernels.
 *
 * - `Inputs`: names of the input tensors, in order.
 * - `Params`: the complete parameters, plain cloneable data.
 * - `Defaulted`: the parameters that a caller may leave out.
 * - `Optional`: names of optional tensors, which callers pass among the parameters.
 */
export interface Op<
  Inputs extends readonly string[] = readonly string[],
  Params extends object = NoParams,
  Defaulted extends keyof Params = never,
  Optional extends readonly string[] = readonly [],
> {
  readonly name: string;
  readonly inputs: Inputs;
  readonly optionalInputs?: Optional;
  readonly defaults: Pick<Params, Defaulted>;
  /** Names of the parameters that a caller must give. */
  readonly required?: readonly Exclude<keyof Params, Defaulted>[];
  /** The op has a list of one or more tensors as its input, and `inputs` has the list's name; see {@link VariadicOp}. */
  readonly variadic?: boolean;
  /** Index of the input that the op updates in place. The input is a persistent, and the output is its next version. */
  readonly writes?: number;
  /** The output is the first input's memory under another shape; nothing is computed. */
  readonly alias?: boolean;
  /**
   * Every output element depends only on the input elements at the same index, with inputs broadcast to the output's shape. Calls
   * of such ops can be fused into one kernel.
   */
  readonly elementwise?: boolean;
  /** The op does many flops per byte for large tensors: its time is proportional to its flops, not to its bytes. */
  readonly computeBound?: boolean;
  /**
   * The output's spec. Runs once, when the op is recorded; backends never check again.
   * Inputs come as {@link PerInput} orders them.
   * @throws {ShapeError | DTypeError | ArgumentError}
   */
  infer(inputs: PerInput<Inputs, Optional, TensorSpec>, params: Params): TensorSpec;
  cost(inputs: PerInput<Inputs, Optional, ConcreteSpec>, params: Params, output: ConcreteSpec): Cost;
  /**
   * Scalar definition: accumulates in f64, writes every element of `output.data` (for `writes` ops: the written ones). Ops whose
   * definition is longer than a formula have it in `<op>.reference.ts`; `referenceOf` finds either.
   */
  reference?(inputs: PerInput<Inputs, Optional, HostTensor>, params: Params, output: HostTensor): void;
}

/** An op over a list of any number of tensors, at least one: `inputs` has the list's name, calls and kernels its tensors. */
export type VariadicOp<Name extends string, Params extends object = NoParams, Defaulted extends keyof Params = never> = Op<
  readonly [string, ...string[]],
  Params,
  Defaulted
> & { readonly inputs: readonly [Name]; readonly variadic: true };

/** Any op without its types, for recorded programs and backends. */
export interface AnyOp {
  readonly name: string;
  readonly inputs: readonly string[];
  readonly optionalInputs?: readonly string[];
  readonly defaults: object;
  readonly required?: readonly PropertyKey[];
  readonly variadic?: boolean;
  readonly writes?: number;
  readonly alias?: boolean;
  readonly elementwise?: boolean;
  readonly computeBound?: boolean;
  /** The kernels of a custom op; undefined for built-in ops. */
  readonly kernels?: CustomKernels;
  infer(inputs: readonly (TensorSpec | undefined)[], params: object): TensorSpec;
  cost(inputs: readonly (ConcreteSpec | undefined)[], params: object, output: ConcreteSpec): Cost;
  reference?(inputs: readonly (HostTensor | undefined)[], params: object, output: HostTensor): void;
}

/** The parameters that a caller passes: defaulted ones may be left out, and optional tensors are passed by name. */
export type CallParams<O, Handle> =
  O extends Op<infer _I, infer P, infer D, infer Opt> ? Omit<P, D> & Partial<Pick<P, D>> & { readonly [K in Opt[number]]?: Handle } : never;

/** The name of an op's input, for messages. */
export function inputName({ inputs, optionalInputs, variadic }: AnyOp, place: number): string {
  if (variadic === true) return `${inputs[0]}[${place}]`;
  return inputs[place] ?? optionalInputs?.[place - inputs.length] ?? String(place);
}

/** Whether a call must have the input at a place. */
export function isRequiredInput({ inputs, variadic }: AnyOp, place: number): boolean {
  return variadic === true || place < inputs.length;
}
