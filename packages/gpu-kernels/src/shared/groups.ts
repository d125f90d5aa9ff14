import type { Bool, Emitter, F32, U32 } from "../emitter.ts";

/** A key, such as a rank, and the index of its element. A larger key comes first; of equal ones, the smaller index. */
export type Pair = readonly [key: U32, index: U32];

/** A reduction of sums; see {@link Emitter.reducer}. */
export function groupSum(k: Emitter): (value: F32) => F32 {
  const reduce = k.reducer(["f32"]);
  return (value) => reduce([value], ([a], [b]) => [k.add(a, b)])[0];
}

/** Whether `pair` comes before `other`. */
export function comesFirst(k: Emitter, pair: Pair, other: Pair): Bool {
  const isSame = k.compare("eq", other[0], pair[0]);
  return k.either(k.compare("gt", pair[0], other[0]), k.both(isSame, k.compare("lt", pair[1], other[1])));
}

/** The pair that comes first. */
export function larger(k: Emitter, a: Pair, b: Pair): Pair {
  const takesB = comesFirst(k, b, a);
  return [k.select(takesB, b[0], a[0]), k.select(takesB, b[1], a[1])];
}
