/** `x` to the power `y` as IEEE 754 and C define it; JavaScript's own differs where 1 or -1 meets NaN or an infinity. */
export function ieeePower(x: number, y: number): number {
  return x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y;
}
