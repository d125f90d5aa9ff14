import { f32, f32x4, i32, v128 } from "../../emit/index.ts";
import type { Kernel, ParamsOf } from "../../kernel.ts";
import { axisView, rowChunks } from "./axes.ts";
import { forEachColumns } from "./sum.ts";

/** `max` and `min`: WASM's own instructions hand on NaN, as numpy does. */
export function extremumKernel(name: "max" | "min"): Kernel<ParamsOf<"max">> {
  const start = name === "max" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return {
    emit(module) {
      module.function(`${name}.rows`, { x: "i32", y: "i32", rows: "i32", n: "i32" }, (f, { x, y, rows, n }) => {
        const count = f.local("i32");
        const best = f.locals("v128", 2);
        const result = f.local("f32");
        f.while(rows, () => {
          for (const vector of best) f.set(vector, f.splat(start));
          f.set(count, n);
          f.while(i32.geU(count, 8), () => {
            best.forEach((vector, i) => void f.set(vector, f32x4[name](vector, v128.load(x, 16 * i))));
            f.advance(x, 32);
            f.advance(count, -8);
          });
          f.set(best[0]!, f32x4[name](best[0]!, best[1]!));
          f.set(result, f32x4.extract(best[0]!, 0));
          for (let lane = 1; lane < 4; lane++) f.set(result, f32[name](result, f32x4.extract(best[0]!, lane)));
          f.while(count, () => {
            f.set(result, f32[name](result, f32.load(x)));
            f.advance(x, 4);
            f.advance(count, -1);
          });
          f.store(y, result);
          f.advance(y, 4);
          f.advance(rows, -1);
        });
      });
      const signature = { x: "i32", y: "i32", outer: "i32", n: "i32", inner: "i32" } as const;
      module.function(`${name}.columns`, signature, (f, { x, y, outer, n, inner }) => {
        forEachColumns(f, { x, y, outer, n, inner }, (at, stride, count) => {
          const best = f.let(f.splat(start));
          f.while(count, () => {
            f.set(best, f32x4[name](best, v128.load(at)));
            f.advance(at, stride);
            f.advance(count, -1);
          });
          return best;
        });
      });
    },
    build({ exports }, [x], { axis }, y) {
      const [rows, columns] = [exports(`${name}.rows`), exports(`${name}.columns`)];
      return (run) => {
        const { outer, n, inner } = axisView(run.shape(x!), axis);
        const [from, to] = [run.address(x!), run.address(y)];
        if (inner === 0) return undefined;
        return rowChunks(outer, n * inner, (first, count) => {
          if (inner === 1) rows(from + 4 * first * n, to + 4 * first, count, n);
          else columns(from + 4 * first * n * inner, to + 4 * first * inner, count, n, inner);
        });
      };
    },
  };
}
