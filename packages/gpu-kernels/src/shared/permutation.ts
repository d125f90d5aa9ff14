import type { Shape } from "@centella/core";
import { elementAt } from "@centella/core/backend";

/** A transpose in as few axes as possible: axes that stay neighbours are one. */
export interface Permutation {
  /** Axes of the input that each axis joins, in the order of the input. */
  readonly axes: readonly Shape[];
  /** Number of the input's axis that each axis of the output is. */
  readonly order: readonly number[];
}

/** The permutation whose output has axis `order[i]` of a shape as its axis `i`. Axes with one place vanish. */
export function permutationOf(shape: Shape, order: readonly number[]): Permutation {
  const taken = order.filter((axis) => shape[axis] !== 1);
  // Axes without those that vanish.
  const kept = taken.toSorted((a, b) => a - b);
  const runs: number[][] = [];
  for (const axis of taken) {
    const place = kept.indexOf(axis);
    const run = runs.at(-1);
    if (run?.at(-1) === place - 1) run.push(place);
    else runs.push([place]);
  }
  const sorted = runs.toSorted((a, b) => elementAt(a, 0) - elementAt(b, 0));
  return {
    axes: sorted.map((run) => run.map((place) => elementAt(shape, elementAt(kept, place)))),
    order: runs.map((run) => sorted.indexOf(run)),
  };
}
