import type { Budget } from "./budget.ts";
import { EvaluationError } from "./errors.ts";
import { Text } from "./text.ts";
import { join } from "./textMethods.ts";
import { elementsOf, List, lengthOf, typeName, type Value } from "./values.ts";

/** `value[from:to:step]`, in characters of a text. */
export function slice(value: Value, bounds: readonly Value[], budget: Budget): Value {
  const [from, to, step = 1] = bounds.map((bound) => {
    if (bound === undefined || bound === null) return undefined;
    if (typeof bound === "number") return bound;
    throw new EvaluationError(`expected whole numbers in a slice, got ${typeName(bound)}`);
  });
  if (step === 0) throw new EvaluationError("expected a step other than 0 in a slice");
  const length = lengthOf(value, budget);
  const [first, last] = step < 0 ? [-1, length - 1] : [0, length];
  const clamp = (at: number): number => Math.min(Math.max(at < 0 ? at + length : at, first), last);
  const start = from === undefined ? (step < 0 ? last : first) : clamp(from);
  const end = to === undefined ? (step < 0 ? first : last) : clamp(to);
  if (value instanceof Text && step === 1) {
    budget.spendOnText(value.length);
    return value.sliceCharacters(start, Math.max(start, end));
  }
  const items = elementsOf(value, budget);
  const picked: Value[] = [];
  for (let i = start; step < 0 ? i > end : i < end; i += step) picked.push(items[i]);
  budget.spendOnElements(picked.length);
  return value instanceof Text ? join(budget, new List(picked), Text.empty) : new List(picked, value instanceof List && value.isTuple);
}
