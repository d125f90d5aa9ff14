/** `expOf`, `logOf`, `rootOf` and `inverseRootOf`: WGSL leaves open what its own give at 0, below it and at infinity. */
export const edges = `var<private> infinityBits: u32 = 0x7f800000u;
fn expOf(x: f32) -> f32 {
  if (x > 88.722839) { return bitcast<f32>(infinityBits); }
  return exp(max(x, -110.0));
}
fn logOf(x: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return bitcast<f32>(infinityBits | 0x80000000u); }
  if (x < 0.0) { return nan(); }
  if (isInfinite(x)) { return x; }
  return log(x);
}
fn rootOf(x: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u || bitcast<u32>(x) == 0x7f800000u) { return x; }
  if (x < 0.0) { return nan(); }
  return sqrt(x);
}
fn inverseRootOf(x: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) == 0u) { return bitcast<f32>(infinityBits | bitcast<u32>(x)); }
  if (x < 0.0) { return nan(); }
  if (isInfinite(x)) { return 0.0; }
  return inverseSqrt(x);
}`;

/** `softplusOf`: `max(x, 0) + log(1 + e)`, the logarithm as `2 artanh(e / (2 + e))`: WGSL bounds its own only absolutely near 1. */
export const softplusFunction = `fn softplusOf(x: f32) -> f32 {
  let e = exp(-min(abs(x), 110.0));
  let s = e / (2.0 + e);
  let q = s * s;
  return max(x, 0.0) + 2.0 * s * (1.0 + q * (0.333333333 + q * (0.2 + q * (0.142857143 + q * (0.111111111 + q * 0.090909091)))));
}`;

/**
 * `geluOf`: `1 - erf(z) = t (a1 + t (a2 + ...)) e^(-z^2)`, absolute error 1.5e-7 (Abramowitz and Stegun, 7.1.26), used as it is for
 * negative x, so that nothing cancels there.
 */
export const erfGelu: string = `fn geluOf(x: f32) -> f32 {
  let z = min(abs(x) * ${Math.SQRT1_2}, 10.0);
  let t = 1.0 / (1.0 + 0.3275911 * z);
  let polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let part = 0.5 * min(x, 16.0) * polynomial * exp(-z * z);
  return select(x - part, part, x < 0.0);
}`;

/** `sinhOf`, from `expMinusOne`, which does not cancel near zero. */
export const sinhFunction = `fn sinhOf(x: f32) -> f32 {
  if (isInfinite(x)) { return x; }
  let u = expMinusOne(abs(x));
  return select(0.5, -0.5, x < 0.0) * (u + u / (u + 1.0));
}`;
