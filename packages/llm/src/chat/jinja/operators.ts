import { type Budget, TextBuilder } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import { formatPercent } from "./format.ts";
import { Text } from "./text.ts";
import { toText } from "./toText.ts";
import { areEqual, compare, contains, Float, List, numberOf, typeName, type Value } from "./values.ts";

/** A binary operator. */
export type Operator = (a: Value, b: Value, budget: Budget) => Value;

/** Binary operators by increasing precedence. All are left-associative, as in Jinja. */
export const binaryLevels: readonly ReadonlyMap<string, Operator>[] = [
  new Map<string, Operator>([
    ["+", add],
    ["-", arithmetic("-", (a, b) => a - b)],
  ]),
  new Map<string, Operator>([["~", concatenate]]),
  new Map<string, Operator>([
    ["*", multiply],
    ["/", divide],
    ["//", arithmetic("//", (a, b) => Math.floor(a / nonZero(b)))],
    ["%", remainder],
  ]),
  new Map<string, Operator>([["**", power]]),
];

/** A comparison operator. */
export type Comparison = (a: Value, b: Value, budget: Budget) => boolean;

/** Comparison operators by name. */
export const comparisons: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ["==", areEqual],
  ["!=", (a, b, budget) => !areEqual(a, b, budget)],
  ["<", (a, b, budget) => compare(a, b, budget) < 0],
  ["<=", (a, b, budget) => compare(a, b, budget) <= 0],
  [">", (a, b, budget) => compare(a, b, budget) > 0],
  [">=", (a, b, budget) => compare(a, b, budget) >= 0],
  ["in", (a, b, budget) => contains(b, a, budget)],
  ["not in", (a, b, budget) => !contains(b, a, budget)],
]);

function concatenate(a: Value, b: Value, budget: Budget): Value {
  return new TextBuilder(budget).add(toText(a, budget)).add(toText(b, budget)).done();
}

function add(a: Value, b: Value, budget: Budget): Value {
  if (a instanceof Text && b instanceof Text) return concatenate(a, b, budget);
  if (a instanceof List && b instanceof List) {
    budget.spendOnElements(a.items.length + b.items.length);
    return new List([...a.items, ...b.items], a.isTuple);
  }
  return numbers("+", a, b, (x, y) => x + y);
}

function multiply(a: Value, b: Value, budget: Budget): Value {
  const [sequence, count] = typeof a === "number" ? [b, a] : [a, b];
  if (typeof count === "number" && sequence instanceof Text) {
    const times = Math.max(0, count);
    budget.checkLength(sequence.length * times);
    budget.spendOnText(sequence.length * times);
    return new Text(sequence.value.repeat(times), sequence.origins.repeat(times));
  }
  if (typeof count === "number" && sequence instanceof List) {
    const length = sequence.items.length * Math.max(0, count);
    budget.spendOnElements(length);
    return new List(
      Array.from({ length }, (_, i) => sequence.items[i % sequence.items.length]),
      sequence.isTuple,
    );
  }
  return numbers("*", a, b, (x, y) => x * y);
}

function divide(a: Value, b: Value): Value {
  return new Float(numberOf(numbers("/", a, b, (x, y) => x / nonZero(y)))!);
}

function remainder(a: Value, b: Value, budget: Budget): Value {
  if (a instanceof Text) return formatPercent(a, b instanceof List && b.isTuple ? b.items : [b], budget);
  // The sign is the divisor's, as in Python.
  return numbers("%", a, b, (x, y) => x - y * Math.floor(x / nonZero(y)));
}

function power(a: Value, b: Value): Value {
  const result = numbers("**", a, b, (x, y) => x ** y);
  const exponent = numberOf(b);
  return typeof result === "number" && exponent !== undefined && exponent < 0 ? new Float(result) : result;
}

function arithmetic(name: string, compute: (a: number, b: number) => number): Operator {
  return (a, b) => numbers(name, a, b, compute);
}

/** Applies an operation. The result is a float if either operand is a float. */
function numbers(name: string, a: Value, b: Value, compute: (a: number, b: number) => number): Value {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === undefined || y === undefined)
    throw new EvaluationError(`expected operands that "${name}" takes, got ${typeName(a)} and ${typeName(b)}`);
  const result = compute(x, y);
  if (a instanceof Float || b instanceof Float) return new Float(result);
  if (!Number.isFinite(result)) throw new EvaluationError(`expected a result of "${name}" below 2^1024, got a greater one`);
  return result;
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new EvaluationError("expected a divisor other than 0");
  return divisor;
}
