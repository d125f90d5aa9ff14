/**
 * Mean and population variance of the `n` values from `at` in steps of `stride`. A second pass sums squared differences from the mean, so
 * that no digits cancel.
 */
export function moments(line: Float64Array): { readonly mean: number; readonly variance: number } {
  const n = line.length;
  const mean = line.reduce((sum, value) => sum + value, 0) / n;
  return { mean, variance: line.reduce((squares, value) => squares + (value - mean) ** 2, 0) / n };
}
