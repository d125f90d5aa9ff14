/** Cosines of the angles between all vectors, which have the length 1. */
export function similarities(vectors: readonly Float32Array[]): readonly (readonly number[])[] {
  return vectors.map((a) => vectors.map((b) => dot(a, b)));
}

export function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * b[index]!, 0);
}
