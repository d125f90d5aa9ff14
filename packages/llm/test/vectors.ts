/** The least finite f32, which hides a logit. */
const lowest = -3.4028234663852886e38;

/** `‖a − b‖ / ‖b‖`; infinite if the lengths differ. Hidden logits of `b` count only if `a` does not hide them. */
export function relativeError(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  const square = (values: Float32Array): number => values.reduce((sum, value) => sum + value * value, 0);
  const difference = a.map((value, i) => value - b[i]!);
  return Math.sqrt(square(difference) / square(b.filter((value) => value !== lowest)));
}

/** `a · b / (‖a‖ ‖b‖)`. */
export function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}
