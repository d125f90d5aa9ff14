/** Whether a number can both multiply and divide in f32: neither it nor its reciprocal is 0, infinite or NaN. */
export function isDivisor(value: number): boolean {
  return Number.isFinite(Math.fround(value)) && Number.isFinite(Math.fround(1 / value)) && Math.fround(value) !== 0;
}

/** Whether a number is a {@link isDivisor divisor} above 0. */
export function isFactor(value: number): boolean {
  return value > 0 && isDivisor(value);
}
