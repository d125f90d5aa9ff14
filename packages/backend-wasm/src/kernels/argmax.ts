import { f32, f32x4, i32, i32x4, v128 } from "../emit/index.ts";
import type { Kernel, ParamsOf } from "../kernel.ts";
import { axisView, rowChunks } from "./shared/axes.ts";

export const argmax: Kernel<ParamsOf<"argmax">> = {
  emit(module) {
    module.function("argmax.rows", { x: "i32", y: "i32", rows: "i32", n: "i32" }, (f, { x, y, rows, n }) => {
      const [count, at, index, found] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
      const [best, quad] = [f.local("v128"), f.local("v128")];
      const largest = f.local("f32");
      f.while(rows, () => {
        // The largest value first, NaN above all, then the place where it is first found.
        f.set(best, f.splat(Number.NEGATIVE_INFINITY));
        f.set(at, x);
        f.set(count, n);
        f.while(i32.geU(count, 4), () => {
          f.set(best, f32x4.max(best, v128.load(at)));
          f.advance(at, 16);
          f.advance(count, -4);
        });
        f.set(largest, f32x4.extract(best, 0));
        for (let lane = 1; lane < 4; lane++) f.set(largest, f32.max(largest, f32x4.extract(best, lane)));
        f.while(count, () => {
          f.set(largest, f32.max(largest, f32.load(at)));
          f.advance(at, 4);
          f.advance(count, -1);
        });
        f.set(best, f32x4.splat(largest));
        f.set(at, x);
        f.setI32(index, 0);
        f.block((exit) => {
          f.loop((again) => {
            f.brIf(exit, i32.geU(index, n));
            f.set(quad, v128.load(at));
            const isBest = f32x4.eq(quad, best);
            const bothNaN = v128.and(f32x4.ne(quad, quad), f32x4.ne(best, best));
            f.set(found, i32x4.bitmask(v128.or(isBest, bothNaN)));
            f.if(found, () => {
              f.advance(index, i32.ctz(found));
              f.br(exit);
            });
            f.advance(at, 16);
            f.advance(index, 4);
            f.br(again);
          });
        });
        f.store(y, i32.select(i32.ltU(index, n), index, 0));
        f.advance(x, i32.shl(n, 2));
        f.advance(y, 4);
        f.advance(rows, -1);
      });
    });
    const signature = { x: "i32", y: "i32", outer: "i32", n: "i32", inner: "i32" } as const;
    module.function("argmax.columns", signature, (f, { x, y, outer, n, inner }) => {
      const [column, at, index, bestIndex] = [f.local("i32"), f.local("i32"), f.local("i32"), f.local("i32")];
      const [best, value] = [f.local("f32"), f.local("f32")];
      const stride = f.let(i32.shl(inner, 2));
      f.while(outer, () => {
        f.for(column, 0, inner, 1, () => {
          f.set(at, i32.add(x, i32.shl(column, 2)));
          f.set(best, f32.load(at));
          f.setI32(bestIndex, 0);
          f.for(index, 0, n, 1, () => {
            f.set(value, f32.load(at));
            f.if(i32.and(i32.or(f32.gt(value, best), f32.ne(value, value)), f32.eq(best, best)), () => {
              f.set(best, value);
              f.set(bestIndex, index);
            });
            f.advance(at, stride);
          });
          f.store(y, bestIndex);
          f.advance(y, 4);
        });
        f.advance(x, i32.mul(n, stride));
        f.advance(outer, -1);
      });
    });
  },
  build({ exports }, [x], { axis }, y) {
    const [rows, columns] = [exports("argmax.rows"), exports("argmax.columns")];
    return (run) => {
      const { outer, n, inner } = axisView(run.shape(x!), axis);
      const [from, to] = [run.address(x!), run.address(y)];
      return rowChunks(outer, n * inner, (first, count) => {
        if (inner === 1) rows(from + 4 * first * n, to + 4 * first, count, n);
        else columns(from + 4 * first * n * inner, to + 4 * first * inner, count, n, inner);
      });
    };
  },
};
