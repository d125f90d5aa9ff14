import { describe } from "@centella/quant/checks";
import { type DType, dtypeOf, isInteger, type TypedArray, typedArrayOf } from "./dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "./errors.ts";
import type { ConcreteSpec } from "./spec.ts";
import { checkData } from "./tensor.ts";

/** Numbers in a list, or in lists of lists of one shape. */
export type NestedNumbers = readonly number[] | readonly NestedNumbers[];

/** Data of a tensor: the stored form of its elements, or lists of numbers. */
export type TensorData = TypedArray | NestedNumbers;

/** Limit of the nesting: a list that contains itself would have no end. */
const maxAxes = 64;

/**
 * Returns the spec and the stored form of a tensor's data. A stored form is returned itself, not a copy.
 * @throws {ShapeError} if lists of one level have different lengths, or `shape` does not fit
 * @throws {DTypeError} if an element is not a number, or not a value of `dtype`
 */
export function storedData(where: string, data: TensorData, shape?: readonly number[], dtype?: DType): [ConcreteSpec, TypedArray] {
  if (!Array.isArray(data)) {
    const array = data as TypedArray;
    const spec = { dtype: dtype ?? dtypeOf(where, array), shape: shape ?? [array.length] };
    checkData(where, spec, array);
    return [spec, array];
  }
  const nested = nestedShape(where, data);
  if (shape !== undefined && nested.length > 1)
    throw new ArgumentError(where, "a shape or nested lists, which have one", "both", "leave the shape out, or pass a flat list");
  const spec = { dtype: dtype ?? "f32", shape: shape ?? nested };
  const toNumber = converter(where, spec.dtype);
  const values: number[] = [];
  visitElements(where, data, nested, [], (element, path) => values.push(toNumber(element, path)));
  const array = typedArrayOf(spec.dtype).from(values);
  checkData(where, spec, array);
  return [spec, array];
}

/** The lengths of the first list, of its first list, and so on. */
function nestedShape(where: string, list: readonly unknown[]): readonly number[] {
  const shape: number[] = [];
  for (let level: unknown = list; Array.isArray(level); level = level[0]) {
    if (shape.push(level.length) > maxAxes)
      throw new ShapeError(where, `at most ${maxAxes} axes`, "more", "check that no list contains itself");
  }
  return shape;
}

/** Visits the elements of nested lists in order, each with its indices. `path` are those of `list`. */
function visitElements(
  where: string,
  list: readonly unknown[],
  shape: readonly number[],
  path: number[],
  visit: (element: unknown, path: readonly number[]) => void,
): void {
  const length = shape[path.length];
  if (list.length !== length)
    throw new ShapeError(where, `${length} elements in the list at ${formatPath(path)}, as in the first`, String(list.length));
  // By index, because iteration by `forEach` would pass over holes.
  for (let i = 0; i < list.length; i++) {
    const element = list[i];
    path.push(i);
    if (path.length === shape.length) visit(element, path);
    else if (Array.isArray(element)) visitElements(where, element, shape, path, visit);
    else throw new ShapeError(where, `a list at ${formatPath(path)}, as in the first`, describe(element));
    path.pop();
  }
}

/** Checks elements of lists. @throws {DTypeError} for dtypes whose stored form is not a number for each element */
function converter(where: string, dtype: DType): (element: unknown, path: readonly number[]) => number {
  if (dtype !== "f32" && !isInteger(dtype))
    throw new DTypeError(
      where,
      "f32 or a type of integers for a list of numbers",
      describe(dtype),
      "pass the stored form, or f32 and cast it",
    );
  const stored = new (typedArrayOf(dtype))(1);
  return (element, path) => {
    const fix = fixes[typeof element];
    if (typeof element !== "number") throw new DTypeError(where, `a number at ${formatPath(path)}`, describe(element), fix);
    stored[0] = element;
    const isStored = dtype === "f32" || (stored[0] === element && (dtype !== "bool" || element <= 1));
    if (!isStored) throw new DTypeError(where, `a value of ${dtype} at ${formatPath(path)}`, describe(element));
    return element;
  };
}

const fixes: Readonly<Record<string, string | undefined>> = {
  boolean: 'write 1 or 0, with dtype "bool"',
  bigint: "convert it with Number()",
  object: "nest all lists to the same depth",
};

function formatPath(path: readonly number[]): string {
  return path.map((index) => `[${index}]`).join("");
}
