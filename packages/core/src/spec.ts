import { check, describe, elementAt, isRecord, object } from "@centella/quant/checks";
import { type DType, isDType, layoutOf } from "./dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "./errors.ts";

/** A named extent that is known only when the program runs, from 0 to `max`. Two dims are equal when their names are. */
export interface SymbolicDim {
  readonly name: string;
  readonly max: number;
}

/** One extent of a shape. */
export type Dim = number | SymbolicDim;

/** A shape, outermost axis first, row-major. `[]` is a scalar. */
export type Shape = readonly Dim[];

/** Dtype and shape of a tensor, shape possibly symbolic. */
export interface TensorSpec {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A {@link TensorSpec} whose extents are all numbers. */
export interface ConcreteSpec extends TensorSpec {
  readonly shape: readonly number[];
}

/** Values of the symbolic dims of one run, by name. */
export type DimValues = Readonly<Record<string, number>>;

/** Whether two extents are equal in every run. */
export function sameDim(a: Dim, b: Dim): boolean {
  return typeof a === "number" || typeof b === "number" ? a === b : a.name === b.name;
}

/** Whether two shapes are equal in every run. */
export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, i) => sameDim(dim, elementAt(b, i)));
}

/** The extent of `dim` in a run. @throws {ArgumentError} if the run does not bind it. */
export function resolveDim(dim: Dim, dims: DimValues): number {
  if (typeof dim === "number") return dim;
  const value = dims[dim.name];
  if (value === undefined) throw new ArgumentError("run", `a value for dim ${dim.name}`, "none", `pass dims: { ${dim.name}: … }`);
  return value;
}

/** `spec` with every symbolic dim replaced by its value in a run. */
export function resolveSpec(spec: TensorSpec, dims: DimValues): ConcreteSpec {
  if (isConcrete(spec)) return spec;
  return { dtype: spec.dtype, shape: spec.shape.map((dim) => resolveDim(dim, dims)) };
}

/** `spec` with every symbolic dim at its maximum: the spec that memory is planned for. */
export function maxSpec(spec: TensorSpec): ConcreteSpec {
  return { dtype: spec.dtype, shape: spec.shape.map((dim) => (typeof dim === "number" ? dim : dim.max)) };
}

/** Whether an extent is bound at run time. */
export function isSymbolic(dim: unknown): dim is SymbolicDim {
  return typeof dim === "object" && dim !== null && "name" in dim && typeof dim.name === "string" && "max" in dim;
}

/** Whether every extent is a number. */
export function isConcrete(spec: TensorSpec): spec is ConcreteSpec {
  return spec.shape.every((dim) => typeof dim === "number");
}

/** Number of elements. @throws {ShapeError} if it is not exactly representable (above 2^53 − 1). */
export function elementCount(shape: readonly number[]): number {
  if (!Array.isArray(shape)) throw new ShapeError("tensor", "a list of extents", describe(shape), "pass e.g. [2, 3]");
  let count = 1;
  for (const extent of shape) count = typeof extent === "number" ? count * extent : Number.NaN;
  if (!Number.isSafeInteger(count)) throw new ShapeError("tensor", "at most 2^53 - 1 elements", formatShape(shape), "use smaller extents");
  return count;
}

/** Bytes of a tensor in its stored form. @throws {ShapeError} if the last axis is no multiple of the dtype's block. */
export function byteLength(spec: ConcreteSpec): number {
  check("byteLength", "spec", spec, object);
  const { dtype, shape } = spec;
  const { elements, bytes } = layoutOf(dtype);
  const count = elementCount(shape);
  checkBlocks(dtype, { dtype, shape });
  return (count / elements) * bytes;
}

/** @throws {ShapeError} if the last axis of a tensor is not made of whole blocks of its dtype. */
export function checkBlocks(where: string, { dtype, shape }: TensorSpec): void {
  const { elements } = layoutOf(dtype);
  if (elements === 1) return;
  const last = shape.at(-1);
  if (typeof last !== "number" || last % elements !== 0)
    throw new ShapeError(
      where,
      `a last axis that is a multiple of ${elements}`,
      formatSpec({ dtype, shape }),
      "pad it, or use another dtype",
    );
}

/** Formats a shape for messages: `[T≤512, 64]`. */
export function formatShape(shape: Shape): string {
  if (!Array.isArray(shape)) return describe(shape);
  return `[${Array.from(shape, (dim) => (isSymbolic(dim) ? `${dim.name}≤${dim.max}` : describe(dim))).join(", ")}]`;
}

/** Formats a spec for messages: `f32 [T≤512, 64]`. */
export function formatSpec(spec: TensorSpec): string {
  if (!isRecord(spec)) return describe(spec);
  return `${isDType(spec.dtype) ? spec.dtype : describe(spec.dtype)} ${formatShape(spec.shape)}`;
}

/** @throws {ShapeError} if a tensor can have more elements than are exactly representable (above 2^53 − 1). */
export function checkCount(where: string, shape: Shape): void {
  const count = shape.reduce<number>((product, dim) => product * (typeof dim === "number" ? dim : dim.max), 1);
  if (!Number.isSafeInteger(count)) throw new ShapeError(where, "at most 2^53 - 1 elements", formatShape(shape), "use smaller extents");
}

/** @throws {ShapeError | DTypeError} unless a spec has a known dtype, whole extents and whole blocks of the dtype. */
export function checkSpec(where: string, spec: TensorSpec): void {
  if (!isRecord(spec)) throw new ArgumentError(where, "a spec", describe(spec), 'pass e.g. { dtype: "f32", shape: [2, 3] }');
  if (!isDType(spec.dtype)) throw new DTypeError(where, "a dtype", describe(spec.dtype), 'pass e.g. "f32"');
  checkShape(where, spec.shape);
  checkBlocks(where, spec);
}

/** @throws {ShapeError} unless every extent is a whole number ≥ 0 or a symbolic dim. */
export function checkShape(where: string, shape: Shape): void {
  if (!Array.isArray(shape)) throw new ShapeError(where, "a list of extents", describe(shape), "pass e.g. [2, 3]");
  for (const dim of shape) {
    const extent = isSymbolic(dim) ? dim.max : dim;
    if (!Number.isSafeInteger(extent) || extent < 0) {
      throw new ShapeError(where, "extents that are whole numbers from 0", formatShape(shape), "pass e.g. [2, 3]");
    }
  }
  checkCount(where, shape);
}
