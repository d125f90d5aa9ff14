import type { Dim, Shape, TensorSpec } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { type Emitter, type F32, neighbourCount, type U32 } from "../emitter.ts";
import { asValue, type Extent, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import type { GpuArguments, GpuScope, GpuStep } from "../kernel.ts";

/** One run of elements along an axis, handled by one group. */
export interface Row {
  /** Number of the row, in the order of the shape without the axis. */
  readonly row: U32;
  readonly length: Extent;
  /** Flat index of element `i` of the row. */
  at(i: Extent): U32;
  /** Whether the row's elements follow one another, as do the rows. */
  readonly isDense: boolean;
}

/** Axes before and after `axis`; none for null, which treats the tensor as one row. */
export function rowsOf(
  { shape }: TensorSpec,
  axis: number | null,
): { readonly outer: Shape; readonly inner: Shape; readonly axis: number | null } {
  if (axis === null || shape.length === 0) return { outer: [], inner: [], axis: null };
  const at = axis < 0 ? axis + shape.length : axis;
  return { outer: shape.slice(0, at), inner: shape.slice(at + 1), axis: at };
}

/** The extent of an axis; a negative axis counts from the end. */
export function dimAt({ shape }: TensorSpec, axis: number): Dim {
  return elementAt(shape, axis < 0 ? axis + shape.length : axis);
}

/** A row of `x` along an axis from 0, or all of `x` for null. */
export function rowAt(scope: GpuScope, x: TensorSpec, axis: number | null, row: U32): Row {
  const { k } = scope;
  const length = axis === null ? product(k, scope.extents(x.shape)) : scope.extent(dimAt(x, axis));
  const between = product(k, scope.extents(rowsOf(x, axis).inner));
  const [before, after] = unflatten(k, row, [1, between]);
  const start = timesPlus(k, times(k, before, length), between, after);
  return { row, length, at: (i) => asValue(k, plus(k, times(k, i, between), start)), isDense: between === 1 };
}

/** One group per row of `x` along `axis`. */
export function perRow(
  name: string,
  { x, axis: given, args }: { readonly x: TensorSpec; readonly axis: number | null; readonly args: GpuArguments },
  body: (scope: GpuScope, row: Row) => void,
): GpuStep {
  const { outer, inner, axis } = rowsOf(x, given);
  return { kind: "groups", name, args, shape: [...outer, ...inner], body: (scope, row) => body(scope, rowAt(scope, x, axis, row)) };
}

/** Runs `body` for every element of a row, spread over the group's lanes. */
export function forEachOf({ k }: GpuScope, length: Extent, body: (i: U32) => void): void {
  k.for(k.lane(), length, k.lanes, body);
}

/** Whether lanes of a group are to access several elements of a row at once. */
function isWide(k: Emitter, { length, isDense }: Row): boolean {
  return (
    k.neighbours !== undefined &&
    isDense &&
    typeof length === "number" &&
    length % neighbourCount === 0 &&
    length >= k.lanes * neighbourCount
  );
}

/**
 * Runs `body` for the elements from place `from` to `to` of a row, with the flat index and the place of each, spread over the group's lanes.
 * Both ends are multiples of {@link neighbourCount} if the row's length is one.
 */
export function forEachBetween({ k }: GpuScope, row: Row, from: Extent, to: Extent, body: (at: U32, i: U32) => void): void {
  const width = isWide(k, row) ? neighbourCount : 1;
  const first = asValue(k, timesPlus(k, k.lane(), width, from));
  k.for(first, to, k.lanes * width, (i) => {
    if (width === 1) body(row.at(i), i);
    else k.neighbours?.([row.at(i), i], (indices) => body(elementAt(indices, 0), elementAt(indices, 1)));
  });
}

/** {@link forEachBetween} for all elements of a row. */
export function forEachIn(scope: GpuScope, row: Row, body: (at: U32, i: U32) => void): void {
  forEachBetween(scope, row, 0, row.length, body);
}

/** Adds up `value(at)` over the elements of a row; every lane gets the sum. */
export function sumIn(scope: GpuScope, row: Row, add: (own: F32) => F32, value: (at: U32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  forEachIn(scope, row, (at) => own.set(k.add(own.get(), value(at))));
  return add(own.get());
}

/** Adds up the squares of `value(at)` over the elements of a row; every lane gets the sum. */
export function squaresIn(scope: GpuScope, row: Row, add: (own: F32) => F32, value: (at: U32) => F32): F32 {
  const { k } = scope;
  if (!isWide(k, row)) return squaresOf(scope, row.length, add, (i) => value(row.at(i)));
  const own = k.variable("f32", 0);
  forEachIn(scope, row, (at) => {
    const x = value(at);
    own.set(k.fma(x, x, own.get()));
  });
  return add(own.get());
}

/** Adds up `value(i)` over a row; every lane gets the sum. */
export function sumOf(scope: GpuScope, length: Extent, add: (own: F32) => F32, value: (i: U32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  forEachOf(scope, length, (i) => own.set(k.add(own.get(), value(i))));
  return add(own.get());
}

/** Elements that a lane has before it adds up their squares, where the text knows a row's length: their loads overlap. */
const inFlight = 4;

/** Adds up the squares of `value(i)` over a row; every lane gets the sum. */
export function squaresOf(scope: GpuScope, length: Extent, add: (own: F32) => F32, value: (i: U32) => F32): F32 {
  const { k } = scope;
  const own = k.variable("f32", 0);
  const addSquares = (places: readonly U32[]): void => {
    for (const x of places.map(value)) own.set(k.fma(x, x, own.get()));
  };
  const step = k.lanes * inFlight;
  const whole = typeof length === "number" ? length - (length % step) : 0;
  if (whole > 0)
    k.for(k.lane(), whole, step, (i) => addSquares(Array.from({ length: inFlight }, (_, u) => (u === 0 ? i : k.add(i, u * k.lanes)))));
  if (whole !== length) k.for(whole > 0 ? k.add(k.lane(), whole) : k.lane(), length, k.lanes, (i) => addSquares([i]));
  return add(own.get());
}
