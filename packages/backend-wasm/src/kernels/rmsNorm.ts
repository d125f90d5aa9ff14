import { elementCount, lastOf } from "@centella/core/backend";
import { f32, f32x4, f64, i32, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";
import { forEachVector } from "./shared/loops.ts";
import { blockSum } from "./shared/sum.ts";

export const rmsNorm: Kernel<"rmsNorm"> = {
  emit(module) {
    const signature = { x: "i32", w: "i32", y: "i32", n: "i32", eps: "f64", begin: "i32", end: "i32" } as const;
    module.function("rmsNorm", signature, (f, { x, w, y, n, eps, begin, end }) => {
      const [at, weight, count] = f.locals("i32", 3);
      const rowBytes = f.let(i32.shl(n, 2));
      const row = f.local("i32");
      f.advance(x, i32.mul(begin, rowBytes));
      f.advance(y, i32.mul(begin, rowBytes));
      f.for(row, begin, end, 1, () => {
        f.set(at, x);
        f.set(count, n);
        const squares = blockSum(
          f,
          count,
          (offset) => {
            const quad = f.let(v128.load(at, offset));
            return f32x4.mul(quad, quad);
          },
          () => f32.mul(f32.load(at), f32.load(at)),
          (elements) => f.advance(at, 4 * elements),
        );
        const mean = f64.div(squares, f64.fromI32(n));
        const factor = f.let(f32x4.splat(f32.fromF64(f64.div(f64.const(1), f64.sqrt(f64.add(mean, eps))))));
        f.set(at, x);
        f.set(weight, w);
        f.set(count, n);
        const to = f.let(y);
        forEachVector(f, count, [at, weight, to], (offset, store) => {
          store(to, f32x4.mul(f32x4.mul(v128.load(at, offset), factor), v128.load(weight, offset)));
        });
        f.advance(x, rowBytes);
        f.advance(y, rowBytes);
      });
    });
  },
  build({ exports }, [x, w], { eps }, y) {
    const call = exports("rmsNorm");
    return (run) => {
      const shape = run.shape(x);
      const n = lastOf(shape);
      const args = [run.address(x), run.address(w), run.address(y), n, eps];
      return ranges(call, args, n === 0 ? 0 : elementCount(shape.slice(0, -1)), n);
    };
  },
};
