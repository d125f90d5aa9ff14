import { elementAt } from "@centella/core/backend";

/** Pairs of the elements of two lists of the same length. */
export function zip<A, B>(a: readonly A[], b: readonly B[]): readonly (readonly [A, B])[] {
  return a.map((x, i) => [x, elementAt(b, i)]);
}
