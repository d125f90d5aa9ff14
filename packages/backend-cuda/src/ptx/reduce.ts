import type { F32, NumberType, Reducer, Value, Values } from "@centella/gpu-kernels";
import type { PtxBuilder } from "./builder.ts";

/** Combines values over the 32 lanes of a warp; every lane gets the result. `combine` must be associative and commutative. */
export function warpReduce<const T extends readonly NumberType[]>(
  k: PtxBuilder,
  values: Values<T>,
  combine: Parameters<Reducer<T>>[1],
): Values<T> {
  for (let mask = 16; mask > 0; mask >>= 1) {
    // A tuple through `map` is an array to the types.
    const others = (values as readonly Value<NumberType>[]).map((value) => k.shuffleXor(value, mask)) as unknown as Values<T>;
    values = combine(values, others);
  }
  return values;
}

/** Sum over the 32 lanes of a warp. */
export function warpSum(k: PtxBuilder, value: F32): F32 {
  return warpReduce<readonly ["f32"]>(k, [value], ([a], [b]) => [k.add(a, b)])[0];
}
