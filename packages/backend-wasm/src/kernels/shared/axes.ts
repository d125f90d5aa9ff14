import { elementAt, elementCount } from "@centella/core/backend";
import type { Emitted, Range } from "../../kernel.ts";

/** Views a shape as `[outer, n, inner]` around one axis. With null, `n` covers all axes. */
export function axisView(
  shape: readonly number[],
  axis: number | null,
): { readonly outer: number; readonly n: number; readonly inner: number } {
  if (axis === null) return { outer: 1, n: elementCount(shape), inner: 1 };
  const at = axis < 0 ? axis + shape.length : axis;
  return { outer: elementCount(shape.slice(0, at)), n: elementAt(shape, at), inner: elementCount(shape.slice(at + 1)) };
}

/** Elements per tile: tens of microseconds. */
const chunk = 1 << 16;

/**
 * Calls over `total` units of `unitElements` elements each, for a function whose last parameters are `begin` and `end`.
 */
export function ranges(fn: Emitted, args: readonly number[], total: number, unitElements: number): readonly Range[] {
  return [rangeOf(fn, args, total, unitElements)];
}

/** The single call of {@link ranges}. */
export function rangeOf(fn: Emitted, args: readonly number[], total: number, unitElements: number): Range {
  return { fn, args, total, grain: Math.max(1, Math.floor(chunk / Math.max(1, unitElements))) };
}
