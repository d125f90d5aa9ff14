import type { Dim, DimValues, Shape } from "@centella/core";
import { elementAt, elementCount, resolveDim } from "@centella/core/backend";

/** Number of elements of a shape in a run. */
export function count(shape: Shape, dims: DimValues): number {
  return elementCount(extents(shape, dims));
}

export function extents(shape: Shape, dims: DimValues): number[] {
  return shape.map((dim) => resolveDim(dim, dims));
}

/** Extent of an axis, counted from the end where negative. */
export function extent(shape: Shape, axis: number, dims: DimValues): number {
  return resolveDim(elementAt(shape, axis < 0 ? axis + shape.length : axis), dims);
}

/** Largest value that an extent can take. */
export function maximum(dim: Dim): number {
  return typeof dim === "number" ? dim : dim.max;
}

/** The numbers from 0 to before `count`. */
export const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);
