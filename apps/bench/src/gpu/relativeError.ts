/** Distance of `got` from `want`, by the norm of `want`. NaN where a number is missing. */
export function relativeError(got: ArrayLike<number>, want: ArrayLike<number>): number {
  let [errors, norm] = [0, 0];
  for (let i = 0; i < want.length; i++) {
    errors += (got[i]! - want[i]!) ** 2;
    norm += want[i]! ** 2;
  }
  return Math.sqrt(errors / norm);
}
