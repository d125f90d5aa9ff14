import { elementCount } from "@centella/core";
import type { Emitted } from "../../kernel.ts";

/** A tensor seen as `[outer, n, inner]` around one axis; null takes all axes as one. */
export function axisView(
  shape: readonly number[],
  axis: number | null,
): { readonly outer: number; readonly n: number; readonly inner: number } {
  if (axis === null) return { outer: 1, n: elementCount(shape), inner: 1 };
  const at = axis < 0 ? axis + shape.length : axis;
  return { outer: elementCount(shape.slice(0, at)), n: shape[at]!, inner: elementCount(shape.slice(at + 1)) };
}

/** Elements that are read between two pauses. */
const chunk = 1 << 20;

/** Calls `visit(first, count)` for parts of `rows` rows of `rowElements` each, pausing in between. */
export function* rowChunks(rows: number, rowElements: number, visit: (first: number, count: number) => void): Iterable<undefined> {
  const step = Math.max(1, Math.floor(chunk / Math.max(1, rowElements)));
  for (let row = 0; row < rows; row += step) {
    visit(row, Math.min(step, rows - row));
    yield;
  }
}

/** Calls a function whose last parameters are `begin` and `end` for parts of `total` units of `unitElements` each, pausing in between. */
export function* ranges(call: Emitted, args: readonly number[], total: number, unitElements: number): Iterable<undefined> {
  const grain = Math.max(1, Math.floor(chunk / Math.max(1, unitElements)));
  for (let begin = 0; begin < total; begin += grain) {
    call(...args, begin, Math.min(total, begin + grain));
    yield;
  }
}
