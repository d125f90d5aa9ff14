import { bytes, choice, codePoints, repeat, sequence, text } from "../expression/builders.ts";
import type { Range, Regular } from "../expression/types.ts";

/*
 * JSON strings as they are generated. Only the quotation mark, the backslash and controls are escaped. A control may be written in any of
 * its escapes; all other characters have one notation.
 */

const shortEscapes: readonly (readonly [codePoint: number, letter: string])[] = [
  [0x08, "b"],
  [0x09, "t"],
  [0x0a, "n"],
  [0x0c, "f"],
  [0x0d, "r"],
  [0x22, '"'],
  [0x5c, "\\"],
];

/** Ranges of the characters that stand for themselves. */
const unescaped: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x10ffff],
];

const anyCharacter = characters([[0, 0x10ffff]]);
/** Every text of a string. */
export const anyString: Regular = stringOf(repeat(anyCharacter, 0, Infinity));

/** Texts inside quotation marks for one character out of `ranges`. */
export function characters(ranges: readonly Range[]): Regular {
  const parts: Regular[] = [];
  const raw = unescaped.flatMap((allowed) => ranges.flatMap((range) => intersection(range, allowed)));
  if (raw.length > 0) parts.push(codePoints(raw));
  for (const range of ranges) for (const part of intersection(range, [0, 0x1f])) parts.push(hexEscapes(part));
  for (const [codePoint, letter] of shortEscapes) {
    if (ranges.some(([first, last]) => first <= codePoint && codePoint <= last)) parts.push(text(`\\${letter}`));
  }
  return choice(parts);
}

/** Texts of a string of between `min` and `max` code points. */
export function ofLength(min: number, max: number): Regular {
  return stringOf(repeat(anyCharacter, min, max));
}

/** Texts of the string `value`. */
export function stringText(value: string): Regular {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: controls have several notations
  const pieces = value.split(/([\x00-\x1f])/);
  const regulars = pieces.map((piece) => {
    const codePoint = piece.codePointAt(0);
    const isControl = codePoint !== undefined && codePoint < 0x20;
    return isControl ? characters([[codePoint, codePoint]]) : text(JSON.stringify(piece).slice(1, -1));
  });
  return stringOf(sequence(regulars));
}

/** Puts quotation marks around the texts of a string's inside. */
export function stringOf(inside: Regular): Regular {
  return sequence(['"', inside, '"']);
}

function hexEscapes([first, last]: Range): Regular {
  const rows: Regular[] = [];
  for (const high of [0, 1]) {
    for (const [from, to] of intersection([first, last], [16 * high, 16 * high + 15]))
      rows.push(sequence([String(high), hexDigits(from & 15, to & 15)]));
  }
  return sequence(["\\u00", choice(rows)]);
}

function hexDigits(first: number, last: number): Regular {
  const decimal = intersection([first, last], [0, 9]).map(([from, to]): Range => [0x30 + from, 0x30 + to]);
  const letters = intersection([first, last], [10, 15]);
  const upper = letters.map(([from, to]): Range => [0x37 + from, 0x37 + to]);
  const lower = letters.map(([from, to]): Range => [0x57 + from, 0x57 + to]);
  return bytes([...decimal, ...upper, ...lower]);
}

function intersection([a, b]: Range, [c, d]: Range): readonly Range[] {
  const [first, last] = [Math.max(a, c), Math.min(b, d)];
  return first <= last ? [[first, last]] : [];
}
