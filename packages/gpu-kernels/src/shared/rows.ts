import type { Shape, TensorSpec } from "@centella/core";
import type { U32 } from "../emitter.ts";
import { asValue, type Extent, plus, product, times, timesPlus, unflatten } from "../extent.ts";
import type { GpuArguments, GpuScope, GpuStep } from "../kernel.ts";

/** Lanes that share a row. */
export const rowLanes = 128;

/** One run of elements along an axis, handled by one group. */
export interface Row {
  /** Number of the row, in the order of the shape without the axis. */
  readonly row: U32;
  readonly length: Extent;
  /** Flat index of element `i` of the row. */
  at(i: Extent): U32;
}

/** The axes beside `axis`; none for null, which takes all as one row. */
export function rowsOf(
  { shape }: TensorSpec,
  axis: number | null,
): { readonly outer: Shape; readonly inner: Shape; readonly axis: number | null } {
  if (axis === null || shape.length === 0) return { outer: [], inner: [], axis: null };
  const at = axis < 0 ? axis + shape.length : axis;
  return { outer: shape.slice(0, at), inner: shape.slice(at + 1), axis: at };
}

/** One group per row of `x` along `axis`. */
export function perRow(
  name: string,
  { x, axis: given, args }: { readonly x: TensorSpec; readonly axis: number | null; readonly args: GpuArguments },
  body: (scope: GpuScope, row: Row) => void,
): GpuStep {
  const { outer, inner, axis } = rowsOf(x, given);
  return {
    kind: "groups",
    name,
    args,
    shape: [...outer, ...inner],
    lanes: rowLanes,
    body: (scope, row) => {
      const { k } = scope;
      const length = axis === null ? product(k, scope.extents(x.shape)) : scope.extent(x.shape[axis]!);
      const between = product(k, scope.extents(inner));
      const [before, after] = unflatten(k, row, [1, between]);
      const start = timesPlus(k, times(k, before!, length), between, after!);
      body(scope, { row, length, at: (i) => asValue(k, plus(k, times(k, i, between), start)) });
    },
  };
}

/** Runs `body` for every element of a row, spread over the group's lanes. */
export function forEachOf({ k }: GpuScope, length: Extent, body: (i: U32) => void): void {
  k.for(k.lane(), length, rowLanes, body);
}
