import { checkValue, whole } from "@centella/quant/checks";

export { checkKeys } from "@centella/quant/checks";

/** @throws {ArgumentError} unless `value` is a whole number from `min` to `max` */
export function wholeNumber(name: string, value: number, min: number, max: number = Number.MAX_SAFE_INTEGER): number {
  return checkValue(name, value, whole(min, max));
}
