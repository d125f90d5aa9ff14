import { bind, type Operation, operation, wholeArgument } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { formatBraces } from "./format.ts";
import { Text } from "./text.ts";
import { textMethods } from "./textMethods.ts";
import { areEqual, Callable, Dict, elementsOf, List, typeName, type Value } from "./values.ts";

const listMethods: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [
    "append",
    operation("item", (budget, value, item) => {
      budget.spendOnElements(1);
      (value as List).items.push(item);
      return null;
    }),
  ],
  [
    "extend",
    operation("items", (budget, value, items) => {
      const added = [...elementsOf(items, budget)];
      budget.spendOnElements(added.length);
      for (const item of added) (value as List).items.push(item);
      return null;
    }),
  ],
  [
    "insert",
    operation("index item", (budget, value, index, item) => {
      const { items } = value as List;
      budget.spend(1 + items.length / 8);
      items.splice(wholeArgument("insert", index, 0), 0, item);
      return null;
    }),
  ],
  [
    "pop",
    operation("index", (budget, value, index) => {
      const { items } = value as List;
      budget.spend(1 + items.length / 8);
      const at = wholeArgument("pop", index, -1);
      if (at >= items.length || at < -items.length)
        throw new EvaluationError(`pop: expected an index of a list of ${items.length}, got ${at}`);
      return items.splice(at, 1)[0];
    }),
  ],
  ["index", operation("item", (budget, value, item) => (value as List).items.findIndex((other) => areEqual(other, item, budget)))],
  ["count", operation("item", (budget, value, item) => (value as List).items.filter((other) => areEqual(other, item, budget)).length)],
]);

const dictMethods: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["get", operation("key default", (_, value, key, fallback = null) => ((value as Dict).has(key) ? (value as Dict).get(key) : fallback))],
  ["items", listOf((dict) => dict.items())],
  ["keys", listOf((dict) => dict.keys())],
  ["values", listOf((dict) => dict.values())],
  [
    "pop",
    operation("key default", (_, value, key, fallback) => {
      const dict = value as Dict;
      const found = dict.has(key) ? dict.get(key) : fallback;
      dict.delete(key);
      return found;
    }),
  ],
  [
    "update",
    operation("other", (budget, value, other) => {
      if (!(other instanceof Dict)) throw new EvaluationError(`update: expected a mapping, got ${typeName(other)}`);
      budget.spendOnElements(other.entries.size);
      for (const [key, item] of other.entries.values()) (value as Dict).set(key, item);
      return null;
    }),
  ],
  [
    "setdefault",
    operation("key default", (budget, value, key, fallback = null) => {
      const dict = value as Dict;
      budget.spendOnElements(1);
      if (!dict.has(key)) dict.set(key, fallback);
      return dict.get(key);
    }),
  ],
]);

function listOf(elements: (dict: Dict) => Value[]): Operation {
  return operation("", (budget, value) => {
    budget.spendOnElements((value as Dict).entries.size);
    return new List(elements(value as Dict));
  });
}

/** Returns the bound method `value.name`, or undefined if the value's type has none. */
export function methodOf(value: Value, name: string): Callable | undefined {
  if (value instanceof Text && name === "format") return new Callable((args, budget) => formatBraces(value, args, budget));
  const methods =
    value instanceof Text ? textMethods : value instanceof List ? listMethods : value instanceof Dict ? dictMethods : undefined;
  const method = methods?.get(name);
  if (method === undefined) return undefined;
  return new Callable((args, budget) => method.apply(budget, value, ...bind(name, method.parameters, args)));
}
