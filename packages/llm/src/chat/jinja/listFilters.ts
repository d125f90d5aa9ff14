import type { Budget } from "./budget.ts";
import { type Operation, operation } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { areEqual, compare, Dict, elementsOf, Float, isTrue, List, lengthOf, memberOf, numberOf, typeName, type Value } from "./values.ts";

const count = operation("", (budget, value) => lengthOf(value, budget));

/** Filters of lists and mappings that take a fixed number of arguments. */
export const listFilters: readonly (readonly [string, Operation])[] = [
  ["length", count],
  ["count", count],
  ["list", operation("", (budget, value) => new List([...elementsOf(value, budget)]))],
  ["first", operation("", (budget, value) => elementsOf(value, budget)[0])],
  ["last", operation("", (budget, value) => elementsOf(value, budget).at(-1))],
  ["reverse", operation("", reverse)],
  ["sum", operation("attribute start", sum)],
  ["min", operation("case_sensitive attribute", (budget, value, ...how) => sorted(budget, value, how)[0])],
  ["max", operation("case_sensitive attribute", (budget, value, ...how) => sorted(budget, value, how).at(-1))],
  [
    "sort",
    operation("reverse case_sensitive attribute", (budget, value, backwards, ...how) => {
      const items = sorted(budget, value, how, isTrue(backwards));
      return new List(items);
    }),
  ],
  ["unique", operation("case_sensitive attribute", unique)],
  ["groupby", operation("attribute default case_sensitive", groupBy)],
  ["dictsort", operation("case_sensitive by reverse", dictSort)],
];

/** `item.path`, where a path may name members of members: `a.b.0`. */
export function attributeOf(item: Value, path: Value, budget: Budget): Value {
  if (!(path instanceof Text)) return memberOf(item, path, budget);
  let value = item;
  for (const part of path.value.split(".")) value = memberOf(value, /^\d+$/.test(part) ? Number(part) : Text.of(part, "t"), budget);
  return value;
}

/** `value`, or `fallback` for Undefined. None counts as a value. */
export function orElse(value: Value, fallback: Value): Value {
  return value === undefined ? fallback : value;
}

function reverse(budget: Budget, value: Value): Value {
  const items = [...elementsOf(value, budget)].reverse();
  if (!(value instanceof Text)) return new List(items);
  let text = Text.empty;
  for (const item of items) text = text.concat(item as Text);
  return text;
}

function sum(budget: Budget, value: Value, attribute: Value, start: Value = 0): Value {
  const items = elementsOf(value, budget).map((item) =>
    attribute === undefined || attribute === null ? item : attributeOf(item, attribute, budget),
  );
  const numbers = [start, ...items].map((item) => {
    const number = numberOf(item);
    if (number === undefined) throw new EvaluationError(`sum: expected numbers, got ${typeName(item)}`);
    return number;
  });
  const total = numbers.reduce((a, b) => a + b);
  return [start, ...items].some((item) => item instanceof Float) ? new Float(total) : total;
}

/** Sort key of elements: an attribute or the element, in lower case unless the comparison is case-sensitive. */
function sortKey(budget: Budget, attribute: Value, caseSensitive: Value): (item: Value) => Value {
  return (item) => {
    const key = attribute === undefined || attribute === null ? item : attributeOf(item, attribute, budget);
    if (!(key instanceof Text) || isTrue(caseSensitive)) return key;
    budget.spendOnText(key.length);
    return key.map((text) => text.toLowerCase());
  };
}

function sorted(budget: Budget, value: Value, [caseSensitive, attribute]: readonly Value[], isReversed = false): Value[] {
  const keyOf = sortKey(budget, attribute, caseSensitive);
  const items = elementsOf(value, budget);
  budget.spendOnElements(items.length);
  const pairs = items.map((item) => ({ item, key: keyOf(item) }));
  pairs.sort((a, b) => (isReversed ? compare(b.key, a.key, budget) : compare(a.key, b.key, budget)));
  return pairs.map(({ item }) => item);
}

function unique(budget: Budget, value: Value, caseSensitive: Value, attribute: Value): Value {
  const keyOf = sortKey(budget, attribute, caseSensitive);
  const seen = new Dict();
  const items = elementsOf(value, budget).filter((item) => {
    const key = keyOf(item);
    if (seen.has(key)) return false;
    seen.set(key, true);
    return true;
  });
  return new List(items);
}

/** Implements `groupby`: tuples of a value and its elements, sorted by value. */
function groupBy(budget: Budget, value: Value, attribute: Value, fallback: Value, caseSensitive: Value): Value {
  const keyOf = sortKey(budget, attribute, caseSensitive);
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sorted(budget, value, [caseSensitive, attribute])) {
    const key = orElse(keyOf(item), fallback);
    const last = groups.at(-1);
    if (last !== undefined && areEqual(last.key, key, budget)) last.items.push(item);
    else groups.push({ key, items: [item] });
  }
  return new List(groups.map(({ items }) => new List([orElse(attributeOf(items[0], attribute, budget), fallback), new List(items)], true)));
}

/** Implements `dictsort`: a mapping's entries as tuples, sorted by key or by value. */
function dictSort(budget: Budget, value: Value, caseSensitive: Value, by: Value, backwards: Value): Value {
  if (!(value instanceof Dict)) throw new EvaluationError(`dictsort: expected a mapping, got ${typeName(value)}`);
  budget.spendOnElements(value.entries.size);
  const place = by instanceof Text && by.value === "value" ? 1 : 0;
  return new List(sorted(budget, new List(value.items()), [caseSensitive, place], isTrue(backwards)));
}
