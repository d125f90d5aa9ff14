import type { Emitter, F32, NumberType, U32, Value } from "../emitter.ts";

/** A value of each lane with others that belong to it. */
type Values<T extends readonly NumberType[]> = { readonly [I in keyof T]: Value<T[I]> };

/**
 * A reduction over the lanes of a group, a power of two, that can be used several times in one kernel: every lane gets the result. The
 * order is fixed, so results repeat.
 */
export function groupReducer<const T extends readonly NumberType[]>(
  k: Emitter,
  lanes: number,
  types: T,
): (values: Values<T>, combine: (a: Values<T>, b: Values<T>) => Values<T>) => Values<T> {
  const cells = types.map((type) => k.shared(type, lanes));
  return (values, combine) => {
    const lane = k.lane();
    // A tuple through `map` is an array to the types.
    const read = (at: U32 | number): Values<T> => cells.map((cell) => cell.get(at)) as unknown as Values<T>;
    const write = (of: Values<T>): void => cells.forEach((cell, i) => void cell.set(lane, of[i] as Value<NumberType>));
    // Before the first write: the reads of an earlier reduction must be over.
    k.sync();
    write(values);
    for (let stride = lanes / 2; stride >= 1; stride /= 2) {
      k.sync();
      k.if(k.compare("lt", lane, stride), () => write(combine(read(lane), read(k.add(lane, stride)))));
    }
    k.sync();
    return read(0);
  };
}

/** {@link groupReducer} of a sum. */
export function groupSum(k: Emitter, lanes: number): (value: F32) => F32 {
  const reduce = groupReducer(k, lanes, ["f32"]);
  return (value) => reduce([value], ([a], [b]) => [k.add(a, b)])[0];
}

/** Of pairs the larger key, of equal keys the smaller index. */
export function larger(k: Emitter, a: readonly [U32, U32], b: readonly [U32, U32]): readonly [U32, U32] {
  const isSame = k.compare("eq", a[0], b[0]);
  const takesB = k.either(k.compare("gt", b[0], a[0]), k.both(isSame, k.compare("lt", b[1], a[1])));
  return [k.select(takesB, b[0], a[0]), k.select(takesB, b[1], a[1])];
}
