import type { TypedArray } from "../../dtype.ts";
import { ShapeError } from "../../errors.ts";
import type { Cost, Op } from "../../program/op.ts";
import { byteLength, type ConcreteSpec, elementCount, formatSpec, type Shape, type TensorSpec } from "../../spec.ts";
import { requireBoolean, resolveAxis } from "./checks.ts";
import { requireDType } from "./elementwise.ts";

export interface ReduceParams {
  /** The axis to reduce. A negative axis counts from the end; null reduces all axes. */
  readonly axis: number | null;
  /** Keep reduced axes with extent 1. */
  readonly keepDims: boolean;
}

/** A tensor seen as `[outer, n, inner]` around one axis: element `(o, i, k)` lies at `(o * n + i) * inner + k`. */
export interface AxisView {
  readonly outer: number;
  readonly n: number;
  readonly inner: number;
}

/** Splits a shape at `axis`; null takes all axes as one. */
export function axisView(op: string, shape: readonly number[], axis: number | null): AxisView {
  if (axis === null) return { outer: 1, n: elementCount(shape), inner: 1 };
  const at = resolveAxis(op, axis, shape.length);
  return { outer: elementCount(shape.slice(0, at)), n: shape[at]!, inner: elementCount(shape.slice(at + 1)) };
}

/**
 * A reduction of one dtype over one axis or all. `fold` reduces the `n` elements from `at` in steps of `stride`; it is called
 * with `n = 0` only where `empty` allows it or where a symbolic extent is 0 in a run.
 */
export function reduction(definition: {
  readonly name: string;
  readonly dtype?: "f32" | "bool";
  /** Whether reducing nothing has a value. */
  readonly empty: boolean;
  readonly fold: (x: TypedArray, at: number, stride: number, n: number) => number;
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
      const reduced = at === null ? x.shape : [x.shape[at]!];
      if (!empty && reduced.includes(0)) throw emptyAxis(name, x);
      return { dtype, shape: reducedShape(x.shape, at, keepDims) };
    },
    cost: ([x], _params, y): Cost => ({ flops: elementCount(x.shape), bytes: byteLength(x) + byteLength(y) }),
    reference([x], { axis }, y) {
      const { outer, n, inner } = axisView(name, x.spec.shape, axis);
      const { data } = x;
      for (let o = 0; o < outer; o++) {
        for (let k = 0; k < inner; k++) y.data[o * inner + k] = fold(data, o * n * inner + k, inner, n);
      }
    },
  };
}

/** Bytes of one index of the first axis; 0 for an empty tensor. */
export function bytesPerRow(spec: ConcreteSpec): number {
  const [rows = 0] = spec.shape;
  return rows === 0 ? 0 : byteLength(spec) / rows;
}

/** `shape` without `axis` (null: without any), or with extents of 1 in its place. */
export function reducedShape(shape: Shape, axis: number | null, keepDims: boolean): Shape {
  const isReduced = (index: number): boolean => axis === null || index === axis;
  return keepDims ? shape.map((dim, index) => (isReduced(index) ? 1 : dim)) : shape.filter((_, index) => !isReduced(index));
}

export function emptyAxis(op: string, x: TensorSpec): ShapeError {
  return new ShapeError(op, "at least one element to reduce", formatSpec(x), "an empty axis has no such value");
}
