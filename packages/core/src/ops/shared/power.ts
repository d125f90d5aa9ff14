/** `x` to the power `y` as in IEEE 754 and C. JavaScript's `**` differs for 1 with NaN and for 1 or -1 with an infinity. */
export function ieeePower(x: number, y: number): number {
  return x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY) ? 1 : x ** y;
}
