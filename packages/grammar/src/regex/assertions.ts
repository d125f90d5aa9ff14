import { and, choice, empty, repeat, sequence } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { elementAt } from "../lookup.ts";
import { allCodePoints, type CodePointSet, codePointSet, complementOf, unionOf } from "./codePointSet.ts";
import { lineTerminators, wordCharacters } from "./dialect.ts";

/** A zero-width assertion, as a condition on the characters before and after its position. */
export type Assertion = (before: Neighbour, after: Neighbour) => boolean;

/** What is next to a position: the edge of the text, or a character of one of the kinds that assertions distinguish. */
type Neighbour = { isEdge: boolean; endsLine: boolean; isWord: boolean; isWordIgnoringCase: boolean; characters: CodePointSet };

const word = wordCharacters(false);
const neighbours: readonly Neighbour[] = makeNeighbours();
const edge = neighbours[0] as Neighbour;

function makeNeighbours(): readonly Neighbour[] {
  // `ſ` and the Kelvin sign: what `\w` matches with flag `i` alone.
  const foldedWord = codePointSet([0x17f, 0x212a]);
  const none = { isEdge: false, endsLine: false, isWord: false, isWordIgnoringCase: false };
  return [
    { ...none, isEdge: true, endsLine: true, characters: [] },
    { ...none, endsLine: true, characters: lineTerminators },
    { ...none, isWord: true, isWordIgnoringCase: true, characters: word },
    { ...none, isWordIgnoringCase: true, characters: foldedWord },
    { ...none, characters: complementOf(unionOf(lineTerminators, word, foldedWord)) },
  ];
}

export const lineStart: Assertion = (before) => before.endsLine;
export const textStart: Assertion = (before) => before.isEdge;
export const lineEnd: Assertion = (_, after) => after.endsLine;
export const textEnd: Assertion = (_, after) => after.isEdge;

export function wordBoundary(isCaseIgnored: boolean, negate: boolean): Assertion {
  const isWord = (neighbour: Neighbour) => (isCaseIgnored ? neighbour.isWordIgnoringCase : neighbour.isWord);
  return (before, after) => (isWord(before) !== isWord(after)) !== negate;
}

/** Texts that match the first pieces of a sequence, what they end in, and what the next character may be. */
type Match = { text: Regular; last: Neighbour; next: readonly Neighbour[] };

/**
 * Whole texts that match a sequence of expressions and assertions. It goes from left to right and splits what matched so far by its last
 * character, as far as the remaining assertions distinguish that, and restricts what follows an assertion by its first character.
 *
 * @param codePoints makes the expression for one character of a set.
 */
export function withAssertions(pieces: readonly (Regular | Assertion)[], codePoints: (set: CodePointSet) => Regular): Regular {
  const anyText = repeat(codePoints(allCodePoints), 0, Infinity);
  let matches: readonly Match[] = [{ text: empty, last: edge, next: neighbours }];
  pieces.forEach((piece, i) => {
    if (typeof piece === "function") matches = matches.flatMap((match) => restricted(match, piece));
    else {
      const kinds = distinguished(pieces.slice(i + 1).filter((later) => typeof later === "function"));
      matches = merged(matches.flatMap((match) => followed(match, piece, kinds, { anyText, codePoints })));
    }
  });
  return choice(matches.filter(({ next }) => next.includes(edge)).map(({ text }) => text));
}

function restricted(match: Match, assertion: Assertion): Match[] {
  const next = match.next.filter((after) => assertion(match.last, after));
  return next.length === 0 ? [] : [{ ...match, next }];
}

/** The neighbours in groups: none of the assertions distinguishes two of one group before its position. */
function distinguished(assertions: readonly Assertion[]): readonly (readonly Neighbour[])[] {
  const groups = new Map<string, Neighbour[]>();
  for (const before of neighbours) {
    const key = assertions.map((assertion) => neighbours.map((after) => assertion(before, after))).join();
    groups.set(key, [...(groups.get(key) ?? []), before]);
  }
  return [...groups.values()];
}

type Alphabet = { anyText: Regular; codePoints: (set: CodePointSet) => Regular };

function followed(match: Match, piece: Regular, kinds: readonly (readonly Neighbour[])[], { anyText, codePoints }: Alphabet): Match[] {
  const isAnyNext = match.next.length === neighbours.length;
  if (isAnyNext && kinds.length === 1) return [{ text: sequence([match.text, piece]), last: edge, next: neighbours }];
  const found: Match[] = isNullable(piece) ? [match] : [];
  const begun = isAnyNext && !isNullable(piece) ? piece : and([piece, sequence([codePoints(charactersOf(match.next)), anyText])]);
  for (const kind of kinds) {
    const ended = kinds.length === 1 ? begun : and([begun, sequence([anyText, codePoints(charactersOf(kind))])]);
    found.push({ text: sequence([match.text, ended]), last: kind[0] as Neighbour, next: neighbours });
  }
  return found;
}

function charactersOf(kinds: readonly Neighbour[]): CodePointSet {
  return unionOf(...kinds.map((kind) => kind.characters));
}

/** One match for those that end alike and allow the same characters next. */
function merged(matches: readonly Match[]): readonly Match[] {
  const groups = new Map<string, Match[]>();
  for (const match of matches) {
    const key = [neighbours.indexOf(match.last), ...match.next.map((after) => neighbours.indexOf(after))].join();
    groups.set(key, [...(groups.get(key) ?? []), match]);
  }
  return [...groups.values()].map((group) => ({ ...(group[0] as Match), text: choice(group.map(({ text }) => text)) }));
}

/** Whether an expression matches the empty text. */
function isNullable(expression: Regular): boolean {
  switch (expression.kind) {
    case "text":
      return expression.text === "";
    case "bytes":
    case "codePoints":
      return false;
    case "sequence":
    case "and":
      return expression.items.every(isNullable);
    case "choice":
      return expression.items.some(isNullable);
    case "repeat":
      return expression.min === 0 || isNullable(expression.item);
    case "not":
      return !isNullable(expression.item);
    case "automaton":
      return elementAt(expression.states, 0).isAccepting;
  }
}
