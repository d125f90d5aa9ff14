/**
 * `tanhOf`, `expMinusOne` and `logistic`: WGSL's `tanh` may give NaN for large arguments and its error is only bounded
 * absolutely, and `exp(x) - 1` cancels near zero.
 */
export const math = `fn tanhOf(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0.25) {
    let s = x * x;
    return x * (1.0 + s * (-0.333333333 + s * (0.133333333 + s * (-0.053968254 + s * 0.021869489))));
  }
  let t = exp(-2.0 * min(a, 50.0));
  return select(1.0, -1.0, x < 0.0) * ((1.0 - t) / (1.0 + t));
}
fn expMinusOne(x: f32) -> f32 {
  if (abs(x) < 0.25) {
    return x * (1.0 + x * (0.5 + x * (0.166666667 + x * (0.041666667 + x * (0.008333333 + x * (0.001388889 + x * 0.000198413))))));
  }
  return exp(max(x, -110.0)) - 1.0;
}
fn logistic(x: f32) -> f32 {
  let t = exp(-min(abs(x), 110.0));
  return select(1.0, t, x < 0.0) / (1.0 + t);
}`;
