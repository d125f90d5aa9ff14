import { elementAt } from "@centella/quant/checks";
import type { TypedArray } from "../../dtype.ts";
import { ShapeError } from "../../errors.ts";
import type { Cost, Op } from "../../program/op.ts";
import { byteLength, type ConcreteSpec, elementCount, formatSpec, type Shape, type TensorSpec } from "../../spec.ts";
import { requireBoolean, resolveAxis } from "./checks.ts";
import { requireDType } from "./elementwise.ts";

export interface ReduceParams {
  /** Axis to reduce. A negative axis counts from the end; null reduces all axes. */
  readonly axis: number | null;
  /** Whether the result keeps reduced axes, with extent 1. */
  readonly keepDims: boolean;
}

/** View of a tensor as `[outer, n, inner]` around one axis: element `(o, i, k)` has the flat index `(o * n + i) * inner + k`. */
export interface AxisView {
  readonly outer: number;
  readonly n: number;
  readonly inner: number;
}

/** Splits a shape at `axis`; null treats all axes as one. */
export function axisView(op: string, shape: readonly number[], axis: number | null): AxisView {
  if (axis === null) return { outer: 1, n: elementCount(shape), inner: 1 };
  const at = resolveAxis(op, axis, shape.length);
  return { outer: elementCount(shape.slice(0, at)), n: elementAt(shape, at), inner: elementCount(shape.slice(at + 1)) };
}

/** Copies the elements from `at` on, in steps of `stride`, to a line of an axis. */
export function gather(data: TypedArray, at: number, stride: number, line: Float64Array): void {
  for (let i = 0; i < line.length; i++) line[i] = data[at + i * stride]!;
}

/**
 * Op that reduces one axis, or all, of a tensor of one dtype. `fold` reduces a line of elements. It is called with an empty one only if
 * `empty` allows it, or if a run binds a symbolic extent to 0.
 */
export function reduction(definition: {
  readonly name: string;
  readonly dtype?: "f32" | "bool";
  /** Whether the reduction of an empty axis has a value. */
  readonly empty: boolean;
  readonly fold: (line: Float64Array) => number;
}): Op<["x"], ReduceParams, keyof ReduceParams> {
  const { name, dtype = "f32", empty, fold } = definition;
  return {
    name,
    inputs: ["x"],
    defaults: { axis: null, keepDims: false },
    infer([x], { axis, keepDims }) {
      requireDType(name, "x", x, [dtype]);
      requireBoolean(name, "keepDims", keepDims);
      const at = axis === null ? null : resolveAxis(name, axis, x.shape.length);
      const reduced = at === null ? x.shape : [elementAt(x.shape, at)];
      if (!empty && reduced.includes(0)) throw emptyAxis(name, x);
      return { dtype, shape: reducedShape(x.shape, at, keepDims) };
    },
    cost: ([x], _params, y): Cost => ({ flops: elementCount(x.shape), bytes: byteLength(x) + byteLength(y) }),
    reference([x], { axis }, y) {
      const { outer, n, inner } = axisView(name, x.spec.shape, axis);
      const line = new Float64Array(n);
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) {
          gather(x.data, o * n * inner + k, inner, line);
          y.data[o * inner + k] = fold(line);
        }
      }
    },
  };
}

/** Bytes per index of the first axis; 0 for an empty tensor. */
export function bytesPerRow(spec: ConcreteSpec): number {
  const [rows = 0] = spec.shape;
  return rows === 0 ? 0 : byteLength(spec) / rows;
}

/** `shape` without `axis` (null removes every axis), or with extent 1 in its place. */
export function reducedShape(shape: Shape, axis: number | null, keepDims: boolean): Shape {
  const isReduced = (index: number): boolean => axis === null || index === axis;
  return keepDims ? shape.map((dim, index) => (isReduced(index) ? 1 : dim)) : shape.filter((_, index) => !isReduced(index));
}

export function emptyAxis(op: string, x: TensorSpec): ShapeError {
  return new ShapeError(op, "at least one element to reduce", formatSpec(x), "an empty axis has no result");
}
