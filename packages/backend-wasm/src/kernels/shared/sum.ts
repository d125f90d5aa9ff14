import { type Expr, type FunctionBuilder, f32x4, f64, f64x2, i32, type Local, type V128, v128 } from "../../emit/index.ts";
import { inPairs } from "./zip.ts";

/** Elements that are added in f32 before the sum is added to an f64: up to 64 per lane. */
const block = 1024;

/** Moves the two upper lanes to the two lower ones. */
export function upperHalf(x: V128): V128 {
  return f32x4.shuffle(x, x, [2, 3, 2, 3]);
}

/**
 * Sums `count` terms in f64, four at a time from `vector(offset)` and the last ones from `scalar()`, calling
 * `advance(elements)` in between. Blocks are added in four f32 lanes of each of `vectors`. Leaves
 * `count` at 0.
 */
export function blockSum(
  f: FunctionBuilder,
  count: Local<"i32">,
  vector: (offset: number) => V128,
  scalar: () => Expr<"f32">,
  advance: (elements: number) => void,
  vectors: 4 | 8 = 4,
): Local<"f64"> {
  const step = 4 * vectors;
  const total = f.let(f64.const(0));
  const left = f.local("i32");
  const sums = f.locals("v128", vectors);
  f.while(i32.geU(count, step), () => {
    for (const sum of sums) f.set(sum, v128.zero());
    f.set(left, i32.select(i32.ltU(count, block), i32.and(count, -step), block));
    f.set(count, i32.sub(count, left));
    f.while(left, () => {
      f.interleave(sums.map((sum, i) => () => f.set(sum, f32x4.add(sum, vector(16 * i)))));
      advance(step);
      f.advance(left, -step);
    });
    let addends: readonly Local<"v128">[] = sums;
    while (addends.length > 1) {
      const pairs = inPairs(addends);
      for (const [sum, other] of pairs) f.set(sum, f32x4.add(sum, other));
      addends = pairs.map(([sum]) => sum);
    }
    const [sum] = sums;
    const pair = f.let(f64x2.add(f64x2.promoteLowF32x4(sum), f64x2.promoteLowF32x4(upperHalf(sum))));
    f.set(total, f64.add(total, f64.add(f64x2.extract(pair, 0), f64x2.extract(pair, 1))));
  });
  f.while(count, () => {
    f.set(total, f64.add(total, f64.fromF32(scalar())));
    advance(1);
    f.advance(count, -1);
  });
  return total;
}
