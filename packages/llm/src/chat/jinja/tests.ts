import { type Operation, type Operations, operation } from "./calls.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { Attributes, areEqual, Callable, compare, contains, Dict, Float, List, numberOf, type Value } from "./values.ts";

function test(holds: (value: Value) => boolean): Operation {
  return operation("", (_, value) => holds(value));
}

function isUnchanged(change: (value: string) => string): Operation {
  return operation("", (budget, value) => {
    if (!(value instanceof Text)) return false;
    budget.spendOnText(value.length);
    return value.value === change(value.value);
  });
}

function whole(value: Value): number {
  const number = numberOf(value);
  if (number === undefined) throw new EvaluationError("expected a number to test");
  return number;
}

const equal = operation("other", (budget, value, other) => areEqual(value, other, budget));
const unequal = operation("other", (budget, value, other) => !areEqual(value, other, budget));
const less = operation("other", (budget, value, other) => compare(value, other, budget) < 0);
const lessOrEqual = operation("other", (budget, value, other) => compare(value, other, budget) <= 0);
const greater = operation("other", (budget, value, other) => compare(value, other, budget) > 0);
const greaterOrEqual = operation("other", (budget, value, other) => compare(value, other, budget) >= 0);

/** Jinja's tests, `value is NAME`. */
export const tests: Operations = new Map<string, Operation>([
  ["defined", test((value) => value !== undefined)],
  ["undefined", test((value) => value === undefined)],
  ["none", test((value) => value === null)],
  ["boolean", test((value) => typeof value === "boolean")],
  ["true", test((value) => value === true)],
  ["false", test((value) => value === false)],
  ["string", test((value) => value instanceof Text)],
  ["number", test((value) => numberOf(value) !== undefined)],
  ["integer", test((value) => typeof value === "number")],
  ["float", test((value) => value instanceof Float)],
  ["mapping", test((value) => value instanceof Dict)],
  ["sequence", test((value) => value instanceof Text || value instanceof List || value instanceof Dict)],
  ["iterable", test((value) => value === undefined || value instanceof Text || value instanceof List || value instanceof Dict)],
  ["callable", test((value) => value instanceof Callable)],
  ["namespace", test((value) => value instanceof Attributes)],
  ["odd", test((value) => Math.abs(whole(value) % 2) === 1)],
  ["even", test((value) => whole(value) % 2 === 0)],
  ["divisibleby", operation("num", (_, value, divisor) => whole(value) % whole(divisor) === 0)],
  ["lower", isUnchanged((value) => value.toLowerCase())],
  ["upper", isUnchanged((value) => value.toUpperCase())],
  ["in", operation("seq", (budget, value, sequence) => contains(sequence, value, budget))],
  ["sameas", equal],
  ["==", equal],
  ["eq", equal],
  ["equalto", equal],
  ["!=", unequal],
  ["ne", unequal],
  ["<", less],
  ["lt", less],
  ["lessthan", less],
  ["<=", lessOrEqual],
  ["le", lessOrEqual],
  [">", greater],
  ["gt", greater],
  ["greaterthan", greater],
  [">=", greaterOrEqual],
  ["ge", greaterOrEqual],
]);
