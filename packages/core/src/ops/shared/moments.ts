/**
 * Mean and population variance of the `n` values from `at` in steps of `stride`. A second pass sums squared differences from the mean, so
 * that no digits cancel.
 */
export function moments(x: ArrayLike<number>, at: number, stride: number, n: number): { readonly mean: number; readonly variance: number } {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += x[at + i * stride]!;
  const mean = sum / n;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (x[at + i * stride]! - mean) ** 2;
  return { mean, variance: squares / n };
}
