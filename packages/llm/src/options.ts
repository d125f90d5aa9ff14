import { ArgumentError } from "@centella/core";
import { describe } from "@centella/quant/checks";

export { checkKeys } from "@centella/quant/checks";

/** @throws {ArgumentError} unless `value` is a whole number from `min` to `max` */
export function wholeNumber(name: string, value: number, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  throw new ArgumentError(name, `a whole number ${range}`, describe(value));
}

/** @throws {ArgumentError} unless `value` is one of `choices` */
export function oneOf<T extends string>(name: string, value: T, choices: readonly T[]): T {
  if (choices.includes(value)) return value;
  throw new ArgumentError(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), describe(value));
}
