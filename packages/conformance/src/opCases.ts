import type { DType, OpName, TensorSpec } from "@centella/core";
import type { CallParams, Ops } from "@centella/core/backend";
import { type BlockType, type GgmlType, ggmlTypes, isBlockType, isDequantizable } from "@centella/quant";

/**
 * How far a result may be from the reference's: `|got - want| <= atol + rtol * |want| + sums * S`, where `S` is the reference's result for
 * the magnitudes of the inputs. For products, that is the sum of the magnitudes of the terms. Integers and infinities must be equal.
 */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
  /** Default: 0. */
  readonly sums?: number;
}

/**
 * Seeded contents. Numbers are uniform in `[low, high)`, integers in `[low, high]`; "special" mixes in NaN, infinities,
 * denormals, -0 and huge values. Block types get random bytes that decode to numbers between -2 and 2.
 */
export type Fill = { readonly low: number; readonly high: number } | "special";

/** An input of a case. Without `values` it is filled from the case's seed, from -1 to 1 (integers -100 to 100, unsigned ones 0 to 200, bools both). */
export interface CaseTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Decoded values, row-major; they are rounded to what `dtype` can store. */
  readonly values?: readonly number[];
  readonly fill?: Fill;
  /** How the program receives the tensor. Default: a persistent for block types and for inputs that the op writes. */
  readonly as?: "input" | "persistent" | "constant";
}

/** One call of an op that every backend must answer like the reference. */
export interface OpCase<N extends OpName> {
  readonly name: string;
  readonly inputs: readonly CaseTensor[];
  readonly optional?: Readonly<Record<string, CaseTensor>>;
  readonly params?: CallParams<Ops[N], never>;
  /** Result of another implementation (numpy, in f64). For ops that write: the content afterwards. */
  readonly golden?: readonly number[];
  /** Tolerance of this case, if the op's does not fit; a comment says why. */
  readonly tolerance?: Tolerance;
}

/** A case that several ops share. `P`: their parameters. */
export interface SharedCase<P = never> extends Omit<OpCase<OpName>, "params"> {
  readonly params?: P;
}

/** A call that must be refused when it is recorded. */
export interface WrongCase {
  readonly name: string;
  readonly inputs: readonly TensorSpec[];
  readonly optional?: Readonly<Record<string, TensorSpec>>;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly error: "ShapeError" | "DTypeError" | "ArgumentError" | "ProgramError";
  readonly message: RegExp;
}

/** All tests of one op; they are in `src/cases/<op>.ts`. */
export interface OpCases<N extends OpName> {
  /** Per dtype of the output. */
  readonly tolerance: Readonly<Partial<Record<DType, Tolerance>>>;
  readonly cases: readonly OpCase<N>[];
  readonly wrong: readonly WrongCase[];
}

/** Shorthands for the inputs of cases. */
export function f32(...shape: readonly number[]): CaseTensor {
  return { dtype: "f32", shape };
}

export function i32(shape: readonly number[], values: readonly number[]): CaseTensor {
  return { dtype: "i32", shape, values };
}

export function bool(shape: readonly number[], values: readonly number[]): CaseTensor {
  return { dtype: "bool", shape, values };
}

export function tensor(dtype: DType, ...shape: readonly number[]): CaseTensor {
  return { dtype, shape };
}

/** f32 operations on f32 inputs, rounded once or twice: 1 ulp is 6e-8 relative. */
export const rounding: Tolerance = { rtol: 1e-6, atol: 1e-7 };

/** Products with operands in f16: each of the two roundings changes a product by at most 2^-11 relative. */
export const halfProducts: Tolerance = { rtol: 1e-5, atol: 1e-5, sums: 2 ** -10 };

/** Products with operands in bf16: each of the two roundings changes a product by at most 2^-8 relative. */
export const bfloatProducts: Tolerance = { rtol: 1e-5, atol: 1e-5, sums: 2 ** -7 };

/** Copies and integer work. */
export const exact: Tolerance = { rtol: 0, atol: 0 };

/** Block types that weights can have. */
export const blockTypes: readonly BlockType[] = (Object.keys(ggmlTypes) as GgmlType[]).filter(isBlockType).filter(isDequantizable);
