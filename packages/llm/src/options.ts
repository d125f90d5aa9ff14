import { checkValue, oneOf as oneOfKind, whole } from "@centella/quant/checks";

export { checkKeys } from "@centella/quant/checks";

/** @throws {ArgumentError} unless `value` is a whole number from `min` to `max` */
export function wholeNumber(name: string, value: number, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  return checkValue(name, value, whole(min, max));
}

/** @throws {ArgumentError} unless `value` is one of `choices` */
export function oneOf<T extends string>(name: string, value: T, choices: readonly T[]): T {
  return checkValue(name, value, oneOfKind(...choices));
}
