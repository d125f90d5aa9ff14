import type { Budget } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { type Arguments, numberOf, type Value } from "./values.ts";

/** A filter, test or method: takes the value that it is applied to, then its arguments in the order of its parameters. */
export interface Operation {
  readonly parameters: readonly string[];
  readonly apply: (budget: Budget, value: Value, ...args: Value[]) => Value;
}

/** Filters, tests or methods by name. A Map, so that `constructor` is not found. */
export type Operations = ReadonlyMap<string, Operation>;

/** Defines an operation. `parameters` holds the names of its parameters, separated by spaces. */
export function operation(parameters: string, apply: Operation["apply"]): Operation {
  return { parameters: parameters === "" ? [] : parameters.split(" "), apply };
}

/** Returns the arguments in the order of `parameters`. @throws {EvaluationError} for too many or unknown arguments */
export function bind(name: string, parameters: readonly string[], { positional, named }: Arguments): Value[] {
  if (positional.length > parameters.length)
    throw new EvaluationError(`${name}: expected at most ${parameters.length} arguments, got ${positional.length}`);
  const bound: Value[] = [...positional];
  for (const [key, value] of named) {
    const index = parameters.indexOf(key);
    if (index < 0) throw new EvaluationError(`${name}: expected arguments among {${parameters.join(", ")}}, got ${key}`);
    bound[index] = value;
  }
  return bound;
}

/** @throws {EvaluationError} */
export function textArgument(name: string, value: Value): Text {
  if (value instanceof Text) return value;
  throw new EvaluationError(`${name}: expected a string`);
}

/** Returns a whole number, or `fallback` if the argument is missing. @throws {EvaluationError} */
export function wholeArgument(name: string, value: Value, fallback: number): number {
  if (value === undefined || value === null) return fallback;
  const number = numberOf(value);
  if (number === undefined || !Number.isInteger(number)) throw new EvaluationError(`${name}: expected a whole number`);
  return number;
}
