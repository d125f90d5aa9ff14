import { argumentError, listOf, objectOf, shown } from "../checks.ts";
import { soleOf } from "../lookup.ts";
import type { AutomatonState, Expression, Item, Range, ReferenceExpression, Regular, RegularItem, TerminalExpression } from "./types.ts";

const lastCodePoint = 0x10ffff;
const surrogates: Range = [0xd800, 0xdfff];

/** Matches exactly `value`, in UTF-8. @throws {GrammarError} `GRAMMAR_ARGUMENT` if `value` has a lone surrogate */
export function text(value: string): Regular {
  if (typeof value !== "string" || /\p{Surrogate}/u.test(value))
    throw argumentError("text", "a string of whole characters", typeof value === "string" ? "a lone surrogate" : shown(value));
  return { kind: "text", isRegular: true, text: value };
}

/** Matches one byte out of `ranges`. */
export function bytes(ranges: readonly Range[]): Regular {
  return { kind: "bytes", isRegular: true, ranges: normalRanges("bytes", ranges, 0xff) };
}

/** Matches one code point out of `ranges`, in UTF-8. Surrogates are left out: no UTF-8 text has one. */
export function codePoints(ranges: readonly Range[]): Regular {
  return { kind: "codePoints", isRegular: true, ranges: withoutSurrogates(normalRanges("codePoints", ranges, lastCodePoint)) };
}

/** Matches the empty text. */
export const empty: Regular = { kind: "text", isRegular: true, text: "" };

/** Matches nothing, not even the empty text. */
export const never: Regular = { kind: "choice", isRegular: true, items: [] };

/** Matches any code point. */
export const anyCodePoint: Regular = {
  kind: "codePoints",
  isRegular: true,
  ranges: [
    [0, 0xd7ff],
    [0xe000, lastCodePoint],
  ],
};

/** Matches any UTF-8 text. */
export const anyText: Regular = { kind: "repeat", isRegular: true, item: anyCodePoint, min: 0, max: Infinity };

/** Matches the items one after the other. */
export function sequence(items: readonly RegularItem[]): Regular;
export function sequence(items: readonly Item[]): Expression;
export function sequence(items: readonly Item[]): Expression {
  return combined("sequence", items);
}

/** Matches one of the items: every derivation counts, the order does not matter. */
export function choice(items: readonly RegularItem[]): Regular;
export function choice(items: readonly Item[]): Expression;
export function choice(items: readonly Item[]): Expression {
  return combined("choice", items);
}

function combined(kind: "sequence" | "choice", items: readonly Item[]): Expression {
  const expressions = listOf(kind, items).map(expressionOf);
  return soleOf(expressions) ?? ({ kind, isRegular: expressions.every(isRegular), items: expressions } as Expression);
}

/** Matches `item` at least `min` and at most `max` times. Counts are not unrolled: 10⁹ costs what 10 costs. */
export function repeat(item: RegularItem, min: number, max: number): Regular;
export function repeat(item: Item, min: number, max: number): Expression;
export function repeat(item: Item, min: number, max: number): Expression {
  if (!Number.isSafeInteger(min) || min < 0) throw argumentError("repeat", "min to be a whole number", shown(min));
  if (!(Number.isSafeInteger(max) || max === Infinity) || max < min)
    throw argumentError("repeat", "max to be a whole number of at least min, or Infinity", shown(max));
  const expression = expressionOf(item);
  return { kind: "repeat", isRegular: isRegular(expression), item: expression, min, max } as Expression;
}

/** Matches `item` or the empty text. */
export function optional(item: RegularItem): Regular;
export function optional(item: Item): Expression;
export function optional(item: Item): Expression {
  return repeat(item, 0, 1);
}

/** Matches what all items match. Without items it matches every string of bytes. */
export function and(items: readonly RegularItem[]): Regular {
  const regulars = listOf("and", items).map((item) => regularOf("and", item));
  return soleOf(regulars) ?? { kind: "and", isRegular: true, items: regulars };
}

/** Matches every string of bytes, valid UTF-8 or not, that `item` does not match: intersect it with {@link anyText} for texts. */
export function not(item: RegularItem): Regular {
  return { kind: "not", isRegular: true, item: regularOf("not", item) };
}

/**
 * Matches what a deterministic automaton accepts that starts in the first of `states`: for what expressions cannot say briefly, such as
 * the multiples of a number.
 */
export function automaton(states: readonly AutomatonState[]): Regular {
  if (listOf("automaton", states).length === 0) throw argumentError("automaton", "states that lead to states", "none");
  for (const state of states) checkState(state, states.length);
  return { kind: "automaton", isRegular: true, states };
}

function checkState(state: AutomatonState, count: number): void {
  const { isAccepting, next } = objectOf("automaton", "states { isAccepting, next }", state);
  if (typeof isAccepting !== "boolean") throw argumentError("automaton", "isAccepting to be true or false", shown(isAccepting));
  for (const edge of listOf("automaton", next)) {
    const [from, to, target] = listOf("automaton", edge as readonly number[]) as AutomatonState["next"][number];
    const isRange = isWhole(from, 0xff) && isWhole(to, 0xff) && from <= to;
    if (!isRange || !isWhole(target, count - 1))
      throw argumentError("automaton", "states that lead to states by ranges of bytes", `[${shown(from)}, ${shown(to)}, ${shown(target)}]`);
  }
}

function isWhole(value: number, last: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= last;
}

/**
 * Matches what `item` matches, as a terminal of its own. Adjacent regular parts merge into one automaton otherwise. Terminals that occur
 * in several places share their automaton and its masks.
 */
export function terminal(item: RegularItem): TerminalExpression {
  return { kind: "terminal", isRegular: false, item: regularOf("terminal", item) };
}

/** Matches what the rule `name` of the grammar matches. */
export function reference(name: string): ReferenceExpression {
  if (typeof name !== "string") throw argumentError("reference", "the name of a rule", shown(name));
  return { kind: "reference", isRegular: false, name };
}

/** Whether an expression is regular, so that `and`, `not` and `terminal` accept it. */
export function isRegular(expression: Expression): expression is Regular {
  return expression?.isRegular === true;
}

/** The expression that an item stands for. */
export function expressionOf(item: Item): Expression {
  if (typeof item === "string") return text(item);
  if (typeof item?.isRegular !== "boolean") throw argumentError("expression", "a text or an expression", shown(item));
  return item;
}

/** The regular expression that an item stands for. @throws {GrammarError} `GRAMMAR_ARGUMENT` for others */
export function regularOf(where: string, item: RegularItem): Regular {
  const expression = expressionOf(item);
  if (!isRegular(expression)) throw argumentError(where, "regular expressions", `a ${(expression as Expression).kind}`);
  return expression;
}

/** Sorted, disjoint, non-adjacent ranges with the same members. */
function normalRanges(where: string, ranges: readonly Range[], last: number): readonly Range[] {
  for (const range of listOf(where, ranges)) {
    const [from, to] = listOf(where, range) as Range;
    if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || to > last || from > to)
      throw argumentError(where, `ranges [first, last] within 0 … ${last}`, `[${shown(from)}, ${shown(to)}]`);
  }
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before !== undefined && from <= before[1] + 1) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function withoutSurrogates(ranges: readonly Range[]): readonly Range[] {
  const [first, last] = surrogates;
  return ranges.flatMap(([from, to]): Range[] => {
    const parts: Range[] = [
      [from, Math.min(to, first - 1)],
      [Math.max(from, last + 1), to],
    ];
    return parts.filter(([start, end]) => start <= end);
  });
}
