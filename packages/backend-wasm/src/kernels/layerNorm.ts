import { elementCount, lastOf } from "@centella/core/backend";
import { f32x4, i32, v128 } from "../emit/index.ts";
import type { Kernel, Run } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";
import { forEachVector } from "./shared/loops.ts";
import { emitMoments, inverseDeviation, zeros } from "./shared/moments.ts";

/** Two passes over a row compute its mean and variance; a third writes. `bias` is 0 if absent. */
export const layerNorm: Kernel<"layerNorm"> = {
  emit(module) {
    const signature = { x: "i32", w: "i32", bias: "i32", y: "i32", n: "i32", eps: "f64", begin: "i32", end: "i32" } as const;
    module.function("layerNorm", signature, (f, { x, w, bias, y, n, eps, begin, end }) => {
      const [at, weight, offsets, count] = f.locals("i32", 4);
      const rowBytes = f.let(i32.shl(n, 2));
      const row = f.local("i32");
      f.advance(x, i32.mul(begin, rowBytes));
      f.advance(y, i32.mul(begin, rowBytes));
      f.for(row, begin, end, 1, () => {
        const moments = emitMoments(f, x, n);
        const mean = f.let(f32x4.splat(moments.mean));
        const factor = inverseDeviation(f, moments.squares, n, eps);
        f.set(at, x);
        f.set(weight, w);
        f.set(offsets, bias);
        f.set(count, n);
        const to = f.let(y);
        forEachVector(f, count, [at, weight, offsets, to], (offset, store) => {
          const scaled = f32x4.mul(f32x4.mul(f32x4.sub(v128.load(at, offset), mean), factor), v128.load(weight, offset));
          store(to, f32x4.add(scaled, v128.load(offsets, offset)));
        });
        f.advance(x, rowBytes);
        f.advance(y, rowBytes);
      });
    });
  },
  build(context, [x, w, bias], { eps }, y) {
    const call = context.exports("layerNorm");
    const biasAt = bias === undefined ? zeros(context, w) : (run: Run) => run.address(bias);
    return (run) => {
      const shape = run.shape(x);
      const n = lastOf(shape);
      const args = [run.address(x), run.address(w), biasAt(run), run.address(y), n, eps];
      return ranges(call, args, n === 0 ? 0 : elementCount(shape.slice(0, -1)), n);
    };
  },
};
