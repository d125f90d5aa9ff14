import {
  boolean,
  check,
  describe,
  elementAt,
  finite,
  type Kind,
  kind,
  number,
  oneOf,
  positive,
  whole,
  within,
} from "@centella/quant/checks";
import { ArgumentError, ShapeError } from "../../errors.ts";
import { checkShape, type Dim, formatShape, formatSpec, isSymbolic, type Shape, sameDim, type TensorSpec } from "../../spec.ts";

/** @throws {ArgumentError} unless `value` is a number for which `holds`; `expected` completes "expected <option> to be ...". */
export function requireNumber(op: string, option: string, value: number, expected: string, holds: (value: number) => boolean): void {
  requireKind(
    op,
    option,
    value,
    kind(expected, (n) => number.accepts(n) && !Number.isNaN(n) && holds(n as number)),
  );
}

/** @throws {ArgumentError} unless `value` is a finite number. */
export function requireFinite(op: string, option: string, value: number): void {
  requireKind(op, option, value, finite);
}

/** @throws {ArgumentError} unless `value` is a finite number from 0. */
export function requireFromZero(op: string, option: string, value: number): void {
  requireKind(op, option, value, within(0));
}

/** @throws {ArgumentError} unless `value` is a finite number above 0. */
export function requirePositive(op: string, option: string, value: number): void {
  requireKind(op, option, value, positive);
}

/** @throws {ArgumentError} unless `value` is a whole number from `min`. */
export function requireWhole(op: string, option: string, value: number, min: number): void {
  requireKind(op, option, value, whole(min));
}

/** @throws {ArgumentError} unless `value` is true or false. */
export function requireBoolean(op: string, option: string, value: boolean): void {
  check(op, option, value, boolean, "pass one of them");
}

/** @throws {ArgumentError} unless `value` is one of `choices`. */
export function requireOneOf(op: string, option: string, value: string, choices: readonly string[]): void {
  check(op, option, value, oneOf(...choices), "pass one of them");
}

function requireKind(op: string, option: string, value: number, expected: Kind): void {
  check(op, option, value, expected, typeof value === "number" ? `choose another ${option}` : "pass a number");
}

/** `axis` counted from the front, also if it is negative. @throws {ShapeError | ArgumentError} if a tensor of `rank` has no such axis. */
export function resolveAxis(op: string, axis: number, rank: number): number {
  if (rank === 0) throw new ShapeError(op, "a tensor of rank 1 or more", "[]", "a scalar has no axes");
  requireNumber(op, "axis", axis, `a whole number from ${-rank} to ${rank - 1}`, (n) => Number.isInteger(n) && n >= -rank && n < rank);
  return axis < 0 ? axis + rank : axis;
}

/** Extents of a tensor. @throws {ShapeError} unless it has exactly the named axes, e.g. `["T", "H", "D"]`. */
export function requireAxes<const A extends readonly string[]>(
  op: string,
  name: string,
  spec: TensorSpec,
  axes: A,
): { readonly [K in keyof A]: Dim } {
  if (spec.shape.length !== axes.length) throw new ShapeError(op, `${name} [${axes.join(", ")}]`, formatSpec(spec), "reshape it");
  return spec.shape as { readonly [K in keyof A]: Dim };
}

/** @throws {ShapeError} unless the tensor has exactly this shape. */
export function requireShape(op: string, name: string, spec: TensorSpec, shape: Shape): void {
  if (spec.shape.length !== shape.length || !spec.shape.every((dim, axis) => sameDim(dim, elementAt(shape, axis))))
    throw new ShapeError(op, `${name} ${formatShape(shape)}`, formatSpec(spec), "reshape it, or change the tensor that it must fit");
}

/** The extent as a number. @throws {ShapeError} if it is symbolic, because kernels are specialised on it. */
export function requireExtent(op: string, name: string, dim: Dim): number {
  if (typeof dim !== "number")
    throw new ShapeError(op, `${name} to be a number`, `the symbolic dim ${dim.name}`, "only outer axes may be symbolic here");
  return dim;
}

/** {@link requireAxes} for tensors whose extents must all be numbers. */
export function requireExtents<const A extends readonly string[]>(
  op: string,
  name: string,
  spec: TensorSpec,
  axes: A,
): { readonly [K in keyof A]: number } {
  const dims = requireAxes(op, name, spec, axes);
  for (const dim of dims) requireExtent(op, `every extent of ${name}`, dim);
  return dims as { readonly [K in keyof A]: number };
}

/** @throws {ArgumentError | ShapeError} unless `shape` is a list of extents, numbers from 0 or symbolic dims. */
export function requireDims(op: string, shape: Shape): void {
  if (!Array.isArray(shape) || shape.findIndex((dim) => !isDim(dim)) >= 0)
    throw new ArgumentError(op, "shape to be a list of extents", describe(shape), "pass e.g. [2, 3]");
  checkShape(op, shape);
}

/** @throws {ArgumentError} unless `pair` is `[vertical, horizontal]`, whole numbers from `min`. */
export function requirePair(op: string, option: string, pair: readonly [number, number], min: number): void {
  if (!Array.isArray(pair) || pair.length !== 2)
    throw new ArgumentError(op, `${option} to be a pair [vertical, horizontal]`, describe(pair), "pass e.g. [1, 1]");
  for (const value of pair) requireWhole(op, option, value, min);
}

/** Whether a value is an extent: a number or a symbolic dim. */
export function isDim(dim: unknown): dim is Dim {
  return typeof dim === "number" || isSymbolic(dim);
}
