import type { TypedArray } from "../dtype.ts";
import type { ConcreteSpec, TensorSpec } from "../spec.ts";
import type { CustomKernels } from "./customKernels.ts";

/** Work of one op call: `flops` counts a multiply-add as two, `bytes` each input and output once. */
export interface Cost {
  readonly flops: number;
  readonly bytes: number;
}

/**
 * A tensor as an op's scalar reference sees it: values decoded to numbers (f16, bf16 and block types as `Float32Array`),
 * row-major, `data.length` equal to the number of elements.
 */
export interface HostTensor {
  readonly spec: ConcreteSpec;
  readonly data: TypedArray;
  /**
   * Of a block type: the blocks that `data` was decoded from, or in an output the place for them, which only `quantize` fills.
   * Absent where an op wrote into it.
   */
  readonly stored?: TypedArray;
}

/** Parameters of an op that has none. */
export type NoParams = Readonly<Record<never, never>>;

/**
 * One `T` for each tensor of a call: the required inputs in order, then the optional ones, undefined where a call leaves them
 * out. A list of one or more for a variadic op.
 */
export type PerInput<Inputs extends readonly string[], Optional extends readonly string[], T> = readonly [
  ...{ readonly [K in keyof Inputs]: T },
  ...{ readonly [K in keyof Optional]: T | undefined },
];

/**
 * An op, defined once: what it accepts, what it costs and what it computes. Backends mirror it with kernels.
 *
 * `Inputs` are the names of the tensors that it takes in order; `Params` its complete parameters, plain cloneable data;
 * `Defaulted` the parameters that a caller may leave out; `Optional` the names of tensors that it may take besides,
 * given by name among the parameters.
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
  /** The op takes one list of one or more tensors, which the one name in `inputs` stands for; see {@link VariadicOp}. */
  readonly variadic?: boolean;
  /** Index of the input that the op updates in place: a persistent, of which the output is the next version. */
  readonly writes?: number;
  /** The output is the first input's memory under another shape; nothing is computed. */
  readonly alias?: boolean;
  /**
   * Every output element depends only on the input elements at its own place, inputs broadcast to the output's shape: calls
   * of such ops can be fused into one kernel.
   */
  readonly elementwise?: boolean;
  /** Does many flops per byte when its tensors are large: its time goes with its flops, not with its bytes. */
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

/** Any op, its types erased: what recorded programs and backends hold. */
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
  /** Of an op that core does not define: the kernels that came with it. */
  readonly kernels?: CustomKernels;
  infer(inputs: readonly (TensorSpec | undefined)[], params: object): TensorSpec;
  cost(inputs: readonly (ConcreteSpec | undefined)[], params: object, output: ConcreteSpec): Cost;
  reference?(inputs: readonly (HostTensor | undefined)[], params: object, output: HostTensor): void;
}

/** The parameters as a caller gives them: defaulted ones may be left out, optional tensors are named among them. */
export type CallParams<O, Handle> =
  O extends Op<infer _I, infer P, infer D, infer Opt> ? Omit<P, D> & Partial<Pick<P, D>> & { readonly [K in Opt[number]]?: Handle } : never;

/** What an op calls its input at a place, for messages. */
export function inputName({ inputs, optionalInputs, variadic }: AnyOp, place: number): string {
  if (variadic === true) return `${inputs[0]}[${place}]`;
  return inputs[place] ?? optionalInputs?.[place - inputs.length] ?? String(place);
}

/** Whether a call must have the input at a place. */
export function isRequiredInput({ inputs, variadic }: AnyOp, place: number): boolean {
  return variadic === true || place < inputs.length;
}
