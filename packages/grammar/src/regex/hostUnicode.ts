// Unicode data comes from the RegExp of the JavaScript engine, so that it needs no tables and has the engine's Unicode version.
import { type CodePointSet, codePointSet, contains, unionOf } from "./codePointSet.ts";

const blockSize = 0x10000;
const planes = 17;
const properties = new Map<string, CodePointSet>();

/**
 * Code points that a class escape such as `\p{Lu}` or `\w` matches; surrogates are left out, as no UTF-8 text has them. A set is computed
 * on its first use, in about 10 ms, and kept.
 *
 * @throws SyntaxError if the JavaScript engine does not know the property.
 */
export function hostSet(classEscape: string): CodePointSet {
  let set = properties.get(classEscape);
  if (set === undefined) {
    set = codePointSet(matchedRanges(new RegExp(`(?:${classEscape})+`, "gu")));
    properties.set(classEscape, set);
  }
  return set;
}

function matchedRanges(pattern: RegExp): [number, number][] {
  const ranges: [number, number][] = [];
  for (let plane = 0; plane < planes; plane++) {
    const [text, toCodePoint] = textOf(plane);
    for (const { 0: match, index } of text.matchAll(pattern)) {
      const [first, last] = [toCodePoint(index), toCodePoint(index + match.length - 1)];
      // A run that crosses the surrogates, which the text of plane 0 lacks, is two ranges.
      if (first < 0xd800 && last > 0xdfff) ranges.push([first, 0xd7ff], [0xe000, last]);
      else ranges.push([first, last]);
    }
  }
  return ranges;
}

/** All characters of a plane in order, without surrogates, and the function from a UTF-16 index in that text to a code point. */
function textOf(plane: number): [text: string, toCodePoint: (index: number) => number] {
  const units = new Uint16Array(plane === 0 ? blockSize - 0x800 : 2 * blockSize);
  const start = plane * blockSize;
  if (plane === 0) for (let i = 0; i < units.length; i++) units[i] = i < 0xd800 ? i : i + 0x800;
  else
    for (let i = 0; i < blockSize; i++) {
      units[2 * i] = 0xd800 + ((start + i - blockSize) >> 10);
      units[2 * i + 1] = 0xdc00 + (i & 0x3ff);
    }
  const text = new TextDecoder("utf-16le").decode(units);
  return [text, plane === 0 ? (i) => (i < 0xd800 ? i : i + 0x800) : (i) => start + (i >> 1)];
}

let foldings: ReadonlyMap<number, readonly number[]> | undefined;

/** The set with all code points that equal one of its members when case is ignored, as flags `iu` and `iv` compare: by simple case folding. */
export function ignoringCase(set: CodePointSet): CodePointSet {
  const added: number[] = [];
  for (const [codePoint, equals] of caseFoldings()) if (contains(set, codePoint)) added.push(...equals);
  return added.length === 0 ? set : unionOf(set, codePointSet(added));
}

/** The smallest code point that equals this one when case is ignored. */
export function folded(codePoint: number): number {
  return Math.min(codePoint, ...(caseFoldings().get(codePoint) ?? []));
}

/** For each code point that has several cases, the other code points that equal it when case is ignored. */
function caseFoldings(): ReadonlyMap<number, readonly number[]> {
  foldings ??= computeFoldings();
  return foldings;
}

function computeFoldings(): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<string, number[]>();
  const cased = unionOf(hostSet("\\p{Changes_When_Casemapped}"), hostSet("\\p{Changes_When_Casefolded}"));
  for (const [first, last] of cased)
    for (let c = first; c <= last; c++) {
      const character = String.fromCodePoint(c);
      for (const key of new Set([character.toLowerCase(), character.toUpperCase(), character]))
        groups.set(key, [...(groups.get(key) ?? []), c]);
    }
  const equals = new Map<number, Set<number>>();
  for (const group of groups.values()) for (const a of group) for (const b of group) if (a < b && areEqual(a, b)) join(equals, a, b);
  return new Map([...equals].map(([c, set]) => [c, [...set].filter((other) => other !== c)]));
}

/** Whether the engine holds two code points equal when case is ignored: `ı` and `I`, for example, share an upper case and differ. */
function areEqual(a: number, b: number): boolean {
  return new RegExp(`\\u{${a.toString(16)}}`, "iu").test(String.fromCodePoint(b));
}

function join(sets: Map<number, Set<number>>, a: number, b: number): void {
  const joined = new Set([a, b, ...(sets.get(a) ?? []), ...(sets.get(b) ?? [])]);
  for (const member of joined) sets.set(member, joined);
}
