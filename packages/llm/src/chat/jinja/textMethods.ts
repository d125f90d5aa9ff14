import { lastOf } from "@centella/quant/checks";
import { type Budget, TextBuilder } from "./budget.ts";
import { type Operation, operation, textArgument, wholeArgument } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { countCharacters, Text } from "./text.ts";
import { toText } from "./toText.ts";
import { elementsOf, List, type Value } from "./values.ts";

/** A string method without arguments. */
function simple(apply: (text: Text) => Value): Operation {
  return operation("", (budget, value) => {
    const text = textArgument("string method", value);
    budget.spendOnText(text.length);
    return apply(text);
  });
}

function test(pattern: RegExp): Operation {
  return simple(({ value }) => value !== "" && pattern.test(value));
}

/** Python's string methods. */
export const textMethods: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["lower", simple((text) => text.map((value) => value.toLowerCase()))],
  ["upper", simple((text) => text.map((value) => value.toUpperCase()))],
  ["capitalize", simple(capitalize)],
  ["title", simple((text) => text.map(titleCase))],
  ["strip", operation("chars", (budget, value, chars) => strip(budget, value, chars, true, true))],
  ["lstrip", operation("chars", (budget, value, chars) => strip(budget, value, chars, true, false))],
  ["rstrip", operation("chars", (budget, value, chars) => strip(budget, value, chars, false, true))],
  ["split", operation("sep maxsplit", split)],
  ["rsplit", operation("sep maxsplit", rsplit)],
  ["splitlines", operation("", (budget, value) => splitLines(textArgument("splitlines", value), budget))],
  ["partition", operation("sep", (budget, value, sep) => partition(budget, value, sep, false))],
  ["rpartition", operation("sep", (budget, value, sep) => partition(budget, value, sep, true))],
  ["replace", operation("old new count", replace)],
  ["join", operation("iterable", (budget, value, items) => join(budget, items, textArgument("join", value)))],
  ["startswith", operation("prefix", (budget, value, affix) => hasAffix(budget, value, affix, (text, part) => text.startsWith(part)))],
  ["endswith", operation("suffix", (budget, value, affix) => hasAffix(budget, value, affix, (text, part) => text.endsWith(part)))],
  ["removeprefix", operation("prefix", (budget, value, affix) => without(budget, value, affix, true))],
  ["removesuffix", operation("suffix", (budget, value, affix) => without(budget, value, affix, false))],
  ["find", operation("sub", (budget, value, sub) => find(budget, value, sub, (text, part) => text.indexOf(part)))],
  ["rfind", operation("sub", (budget, value, sub) => find(budget, value, sub, (text, part) => text.lastIndexOf(part)))],
  ["count", operation("sub", (budget, value, sub) => places(budget, textArgument("count", value), textArgument("count", sub)).length)],
  ["isdigit", test(/^\p{Nd}+$/u)],
  ["isnumeric", test(/^\p{N}+$/u)],
  ["isalpha", test(/^\p{L}+$/u)],
  ["isalnum", test(/^[\p{L}\p{N}]+$/u)],
  ["isspace", test(/^\s+$/)],
  ["islower", simple(({ value }) => value === value.toLowerCase() && value !== value.toUpperCase())],
  ["isupper", simple(({ value }) => value === value.toUpperCase() && value !== value.toLowerCase())],
]);

function capitalize(text: Text): Text {
  const first = text.value.codePointAt(0) ?? 0;
  const head = text.slice(0, first > 0xffff ? 2 : 1);
  return head.map((value) => value.toUpperCase()).concat(text.slice(head.length).map((value) => value.toLowerCase()));
}

function titleCase(value: string): string {
  return value.replace(/(\p{L})([\p{L}']*)/gu, (_, first: string, rest: string) => first.toUpperCase() + rest.toLowerCase());
}

function strip(budget: Budget, value: Value, chars: Value, atStart: boolean, atEnd: boolean): Text {
  const text = textArgument("strip", value);
  budget.spendOnText(text.length);
  const set = chars === undefined || chars === null ? undefined : new Set(textArgument("strip", chars).value);
  budget.spendOnElements(set?.size ?? 0);
  const isStripped = (char: string): boolean => set?.has(char) ?? char.trim() === "";
  let [start, end] = [0, text.length];
  if (atStart) while (start < end && isStripped(text.value.charAt(start))) start++;
  if (atEnd) while (end > start && isStripped(text.value.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Offsets at which `part` occurs, without overlaps. */
function places(budget: Budget, text: Text, part: Text, count: number = Number.POSITIVE_INFINITY): number[] {
  if (part.length === 0) {
    const offsets = [0];
    for (const character of elementsOf(text, budget) as readonly Text[]) offsets.push(lastOf(offsets) + character.length);
    return offsets.slice(0, count);
  }
  budget.spendOnSearch(text, part);
  const found: number[] = [];
  for (let at = text.value.indexOf(part.value); at >= 0 && found.length < count; at = text.value.indexOf(part.value, at + part.length)) {
    budget.spend(1);
    found.push(at);
  }
  return found;
}

function replace(budget: Budget, value: Value, old: Value, fresh: Value, count: Value): Text {
  const [text, from, to] = [toText(value, budget), textArgument("replace", old), toText(fresh, budget)];
  const maxCount = wholeArgument("replace", count, -1);
  const out = new TextBuilder(budget);
  let position = 0;
  for (const at of places(budget, text, from, maxCount < 0 ? undefined : maxCount)) {
    out.add(text.slice(position, at)).add(to);
    position = at + from.length;
  }
  return out.add(text.slice(position)).done();
}

/** Splits at a separator, or at runs of white space without one, dropping leading and trailing white space. */
function split(budget: Budget, value: Value, separator: Value, limit: Value): List {
  const text = textArgument("split", value);
  const maxCount = wholeArgument("split", limit, -1);
  const count = maxCount < 0 ? Number.POSITIVE_INFINITY : maxCount;
  if (separator === undefined || separator === null) return splitWords(text, count, budget);
  const part = textArgument("split", separator);
  if (part.length === 0) throw new EvaluationError("split: expected a separator, got an empty one");
  return cut(text, places(budget, text, part, count), part.length, budget);
}

function rsplit(budget: Budget, value: Value, separator: Value, limit: Value): List {
  const [text, part] = [textArgument("rsplit", value), textArgument("rsplit", separator)];
  const maxCount = wholeArgument("rsplit", limit, -1);
  const found = places(budget, text, part);
  return cut(text, maxCount < 0 ? found : found.slice(Math.max(0, found.length - maxCount)), part.length, budget);
}

function cut(text: Text, offsets: readonly number[], separatorLength: number, budget: Budget): List {
  budget.spendOnElements(offsets.length + 1);
  const starts = [0, ...offsets.map((offset) => offset + separatorLength)];
  return new List(starts.map((start, i) => text.slice(start, offsets[i] ?? text.length)));
}

function splitWords(text: Text, count: number, budget: Budget): List {
  budget.spendOnText(text.length);
  const words: Text[] = [];
  const pattern = /\S+/g;
  for (let match = pattern.exec(text.value); match !== null; match = pattern.exec(text.value)) {
    budget.spendOnElements(1);
    if (words.length >= count) {
      words.push(text.slice(match.index));
      break;
    }
    words.push(text.slice(match.index, pattern.lastIndex));
  }
  return new List(words);
}

function splitLines(text: Text, budget: Budget): List {
  budget.spendOnText(text.length);
  const lines: Text[] = [];
  let start = 0;
  for (const { index, 0: end } of text.value.matchAll(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g)) {
    budget.spendOnElements(1);
    lines.push(text.slice(start, index));
    start = index + end.length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return new List(lines);
}

function partition(budget: Budget, value: Value, separator: Value, isLast: boolean): List {
  const [text, part] = [textArgument("partition", value), textArgument("partition", separator)];
  budget.spendOnSearch(text, part);
  const at = isLast ? text.value.lastIndexOf(part.value) : text.value.indexOf(part.value);
  if (at < 0) return new List(isLast ? [Text.empty, Text.empty, text] : [text, Text.empty, Text.empty], true);
  return new List([text.slice(0, at), text.slice(at, at + part.length), text.slice(at + part.length)], true);
}

/** Joins the elements of a list, or the characters of a string, with `separator`. */
export function join(budget: Budget, items: Value, separator: Text): Text {
  const out = new TextBuilder(budget);
  for (const [i, item] of elementsOf(items, budget).entries()) {
    if (i > 0) out.add(separator);
    out.add(toText(item, budget));
  }
  return out.done();
}

function hasAffix(budget: Budget, value: Value, affix: Value, test: (text: string, part: string) => boolean): boolean {
  const text = textArgument("startswith", value);
  budget.spendOnText(text.length);
  const parts = affix instanceof List ? affix.items : [affix];
  return parts.some((part) => {
    const { value: wanted } = textArgument("startswith", part);
    budget.spendOnText(wanted.length);
    return test(text.value, wanted);
  });
}

function without(budget: Budget, value: Value, affix: Value, isPrefix: boolean): Text {
  const [text, part] = [textArgument("removeprefix", value), textArgument("removeprefix", affix)];
  budget.spendOnText(text.length);
  if (isPrefix) return text.value.startsWith(part.value) ? text.slice(part.length) : text;
  return text.value.endsWith(part.value) ? text.slice(0, text.length - part.length) : text;
}

/** Counted in characters, as Python does. */
function find(budget: Budget, value: Value, sub: Value, search: (text: string, part: string) => number): number {
  const [text, part] = [textArgument("find", value), textArgument("find", sub)];
  budget.spendOnSearch(text, part);
  const at = search(text.value, part.value);
  return at < 0 ? at : countCharacters(text.value, at);
}
