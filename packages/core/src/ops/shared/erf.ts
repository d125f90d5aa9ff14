/**
 * Gauss error function `2 / sqrt(pi) * integral(exp(-t^2), 0..x)`, accurate to about 1e-15. Sums the series
 * `2 / sqrt(pi) * exp(-x^2) * sum(2^n x^(2n+1) / (2n+1)!!)` (Abramowitz and Stegun, 7.1.6), whose terms all have the sign of x.
 */
export function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  // Beyond 6, erf rounds to 1 in f64.
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}
