import { elementCount, mapTuple } from "@centella/core/backend";
import { f32, f32x4, f64, i32, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";
import { blockSum } from "./shared/sum.ts";

/** Elements of a part, whose sum is an f64. Threads share long vectors; how they are cut depends only on the extent. */
const part = 1 << 17;

export const dot: Kernel<"dot"> = {
  emit(module) {
    module.function(
      "dot.parts",
      { a: "i32", b: "i32", sums: "i32", n: "i32", begin: "i32", end: "i32" },
      (f, { a, b, sums, n, begin, end }) => {
        const [first, left] = f.locals("i32", 2);
        f.while(i32.ltU(begin, end), () => {
          f.set(first, i32.mul(begin, part));
          f.set(left, i32.sub(n, first));
          f.set(left, i32.select(i32.ltU(left, part), left, part));
          const [x, y] = mapTuple([a, b], (from) => f.let(i32.add(from, i32.shl(first, 2))));
          const total = blockSum(
            f,
            left,
            (offset) => f32x4.mul(v128.load(x, offset), v128.load(y, offset)),
            () => f32.mul(f32.load(x), f32.load(y)),
            (elements) => {
              f.advance(x, 4 * elements);
              f.advance(y, 4 * elements);
            },
            8,
          );
          f.store(i32.add(sums, i32.shl(begin, 3)), total);
          f.advance(begin, 1);
        });
      },
    );
    module.function("dot.merge", { sums: "i32", y: "i32", parts: "i32" }, (f, { sums, y, parts }) => {
      const total = f.let(f64.const(0));
      f.while(parts, () => {
        f.set(total, f64.add(total, f64.load(sums)));
        f.advance(sums, 8);
        f.advance(parts, -1);
      });
      f.store(y, f32.fromF64(total));
    });
  },
  build({ exports, max, reserve }, [a, b], _params, y) {
    const [parts, merge] = [exports("dot.parts"), exports("dot.merge")];
    const partsOf = (n: number): number => Math.ceil(n / part);
    reserve(8 * partsOf(elementCount(max(a).shape)));
    return function* (run) {
      const n = elementCount(run.shape(a));
      yield* ranges(parts, [run.address(a), run.address(b), run.scratch, n], partsOf(n), part);
      merge(run.scratch, run.address(y), partsOf(n));
    };
  },
};
