import type { Emitter, F32, U32 } from "../emitter.ts";

/** A reduction of sums; see {@link Emitter.reducer}. */
export function groupSum(k: Emitter): (value: F32) => F32 {
  const reduce = k.reducer(["f32"]);
  return (value) => reduce([value], ([a], [b]) => [k.add(a, b)])[0];
}

/** The pair with the larger key; for equal keys, the one with the smaller index. */
export function larger(k: Emitter, a: readonly [U32, U32], b: readonly [U32, U32]): readonly [U32, U32] {
  const isSame = k.compare("eq", a[0], b[0]);
  const takesB = k.either(k.compare("gt", b[0], a[0]), k.both(isSame, k.compare("lt", b[1], a[1])));
  return [k.select(takesB, b[0], a[0]), k.select(takesB, b[1], a[1])];
}
