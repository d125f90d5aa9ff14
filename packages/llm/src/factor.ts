/** Whether a number can both multiply and divide in f32: it is above 0 and its reciprocal is finite. */
export function isFactor(value: number): boolean {
  return Math.fround(value) > 0 && Number.isFinite(Math.fround(value)) && Number.isFinite(Math.fround(1 / value));
}
