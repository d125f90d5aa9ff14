import { elementAt } from "../lookup.ts";
import type { Range } from "./types.ts";

/** Ranges of the bytes of some code points' UTF-8 forms, one range for each byte. */
export type ByteRanges = readonly Range[];

const lengths: readonly Range[] = [
  [0, 0x7f],
  [0x80, 0x7ff],
  [0x800, 0xffff],
  [0x10000, 0x10ffff],
];

/** The UTF-8 forms of a range of code points, as sequences of byte ranges. */
export function utf8Ranges([from, to]: Range): readonly ByteRanges[] {
  return lengths.flatMap(([first, last], i) => {
    const [start, end] = [Math.max(from, first), Math.min(to, last)];
    return start <= end ? splitAt(start, end, i) : [];
  });
}

/** Splits a range of code points with `tail` continuation bytes until every byte varies on its own. */
function splitAt(from: number, to: number, tail: number): ByteRanges[] {
  for (let bits = 6; bits <= 6 * tail; bits += 6) {
    const mask = 2 ** bits - 1;
    if (Math.floor(from / 2 ** bits) === Math.floor(to / 2 ** bits)) continue;
    if ((from & mask) !== 0) return [...splitAt(from, from | mask, tail), ...splitAt((from | mask) + 1, to, tail)];
    if ((to & mask) !== mask) return [...splitAt(from, (to & ~mask) - 1, tail), ...splitAt(to & ~mask, to, tail)];
  }
  const [first, last] = [encode(from, tail), encode(to, tail)];
  return [first.map((byte, i): Range => [byte, elementAt(last, i)])];
}

const leads = [0, 0xc0, 0xe0, 0xf0];

function encode(codePoint: number, tail: number): number[] {
  const result = [elementAt(leads, tail) | (codePoint >> (6 * tail))];
  for (let i = tail - 1; i >= 0; i--) result.push(0x80 | ((codePoint >> (6 * i)) & 0x3f));
  return result;
}
