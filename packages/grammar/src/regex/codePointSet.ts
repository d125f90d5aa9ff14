import type { Range } from "../expression/types.ts";

/** A set of Unicode code points: sorted ranges that are disjoint and not adjacent. */
export type CodePointSet = readonly Range[];

const lastCodePoint = 0x10ffff;

export const allCodePoints: CodePointSet = [[0, lastCodePoint]];

/** The set of these code points and ranges, which may overlap and be in any order. */
export function codePointSet(ranges: readonly (number | Range)[]): CodePointSet {
  const sorted = ranges
    .map((range): [number, number] => (typeof range === "number" ? [range, range] : [range[0], range[1]]))
    .sort(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const range of sorted) {
    const previous = merged.at(-1);
    if (previous !== undefined && range[0] <= previous[1] + 1) previous[1] = Math.max(previous[1], range[1]);
    else merged.push(range);
  }
  return merged;
}

export function unionOf(...sets: readonly CodePointSet[]): CodePointSet {
  return codePointSet(sets.flat());
}

export function complementOf(set: CodePointSet): CodePointSet {
  const gaps: [number, number][] = [];
  let next = 0;
  for (const [first, last] of set) {
    if (first > next) gaps.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= lastCodePoint) gaps.push([next, lastCodePoint]);
  return gaps;
}

export function intersectionOf(a: CodePointSet, b: CodePointSet): CodePointSet {
  return complementOf(unionOf(complementOf(a), complementOf(b)));
}

export function differenceOf(a: CodePointSet, b: CodePointSet): CodePointSet {
  return intersectionOf(a, complementOf(b));
}

export function contains(set: CodePointSet, codePoint: number): boolean {
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((set[middle] as Range)[1] < codePoint) low = middle + 1;
    else high = middle;
  }
  return low < set.length && (set[low] as Range)[0] <= codePoint;
}
