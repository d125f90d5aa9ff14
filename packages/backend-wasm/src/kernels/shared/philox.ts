import { mapTuple } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i32x4, i64x2, type Local, type V128, v128 } from "../../emit/index.ts";

export type Words = readonly [Local<"v128">, Local<"v128">, Local<"v128">, Local<"v128">];

/** Philox4x32-10 on four counters at once. See core for the source. */
export function philox(f: FunctionBuilder, counters: Words, keys: readonly [Local<"i32">, Local<"i32">]): Words {
  let [c0, c1, c2, c3] = counters;
  const [k0, k1] = mapTuple(keys, (key) => f.let(i32x4.splat(key)));
  for (let round = 0; round < 10; round++) {
    const [high0, low0] = product(f, c0, f.splatBits(0xd2511f53));
    const [high1, low1] = product(f, c2, f.splatBits(0xcd9e8d57));
    [c0, c1, c2, c3] = [f.let(v128.xor(v128.xor(high1, c1), k0)), low1, f.let(v128.xor(v128.xor(high0, c3), k1)), low0];
    f.set(k0, i32x4.add(k0, f.splatBits(0x9e3779b9)));
    f.set(k1, i32x4.add(k1, f.splatBits(0xbb67ae85)));
  }
  return [c0, c1, c2, c3];
}

/** High and low words of the products of four u32. */
function product(f: FunctionBuilder, a: V128, b: V128): readonly [Local<"v128">, Local<"v128">] {
  const [low, high] = [f.let(i64x2.extmulLowU(a, b)), f.let(i64x2.extmulHighU(a, b))];
  return [f.let(f32x4.shuffle(low, high, [1, 3, 5, 7])), f.let(f32x4.shuffle(low, high, [0, 2, 4, 6]))];
}
