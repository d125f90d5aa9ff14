import { type Expr, type FunctionBuilder, f32x4, i32x4, type Local, type V128 } from "../emit/index.ts";

/** Lane sums of four vectors, each as `(l0 + l1) + (l2 + l3)`. */
export function laneSums(f: FunctionBuilder, [a, b, c, d]: readonly [V128, V128, V128, V128]): Local<"v128"> {
  const pairs = (x: V128, y: V128): Local<"v128"> => f.let(f32x4.add(f32x4.shuffle(x, y, [0, 2, 4, 6]), f32x4.shuffle(x, y, [1, 3, 5, 7])));
  const [ab, cd] = [pairs(a, b), pairs(c, d)];
  return pairs(ab, cd);
}

/** All ones in the first `count` lanes, zeros in the remaining ones. */
export function laneMask(f: FunctionBuilder, count: Expr<"i32">): Local<"v128"> {
  return f.let(i32x4.gtS(i32x4.splat(count), f.pooled(new Uint8Array(new Uint32Array([0, 1, 2, 3]).buffer))));
}

/** The largest lane, in all lanes. NaN is ignored; it shows in the exponentials. */
export function largestLane(f: FunctionBuilder, x: Local<"v128">): Local<"v128"> {
  const pairs = f.let(f32x4.pmax(x, f32x4.shuffle(x, x, [2, 3, 0, 1])));
  return f.let(f32x4.pmax(pairs, f32x4.shuffle(pairs, pairs, [1, 0, 3, 2])));
}
