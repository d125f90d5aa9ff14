import { elementAt, mapTuple } from "@centella/core/backend";

/** Pairs of adjacent elements: `[a, b], [c, d], …`. */
export function inPairs<T>(list: readonly T[]): readonly (readonly [T, T])[] {
  const [even, odd] = mapTuple([0, 1], (parity) => list.filter((_, i) => i % 2 === parity));
  return zip(even, odd);
}

/** Pairs of the elements of two lists of the same length. */
export function zip<A, B>(a: readonly A[], b: readonly B[]): readonly (readonly [A, B])[] {
  return a.map((x, i) => [x, elementAt(b, i)]);
}
