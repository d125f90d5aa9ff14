import type { ParamsOf, TensorSpec } from "@centella/core";
import { type Operand, tupleOf } from "@centella/core/backend";
import { f32, f64, i32, type Local } from "../../emit/index.ts";
import type { KernelFor } from "../../kernel.ts";
import { ranges } from "./axes.ts";

const names = [
  "x",
  "y",
  "height",
  "width",
  "rows",
  "columns",
  "kh",
  "kw",
  "strideY",
  "strideX",
  "top",
  "left",
  "divisor",
  "begin",
  "end",
] as const;
type Name = (typeof names)[number];

type PoolKernel = KernelFor<readonly [Operand], readonly [TensorSpec], ParamsOf<"maxPool2d"> & { readonly countPadding?: boolean }>;

/** `maxPool2d` and `avgPool2d`. Padding counts only in `divisor`, if that is not 0. A unit is a row of the output. */
export function poolKernel(name: "maxPool2d" | "avgPool2d"): PoolKernel {
  const isMax = name === "maxPool2d";
  return {
    build({ emit }, [x], { kernel, stride, padding, countPadding = false }, y) {
      const signature = Object.fromEntries(names.map((word) => [word, "i32"])) as Record<Name, "i32">;
      const call = emit(name, (module, called) => {
        module.function(called, signature, (f, p) => {
          const [unit, column, plane, r0, r1, c0, c1, r, c] = f.locals("i32", 9);
          const [best, sum] = [f.local("f32"), f.local("f64")];
          // Clips a window's edge to the image.
          const clipped = (to: Local<"i32">, value: Local<"i32">, limit: Local<"i32">): void =>
            f.set(to, i32.select(i32.ltS(value, 0), 0, i32.select(i32.gtS(value, limit), limit, value)));
          const edge = f.local("i32");
          f.advance(p.y, i32.shl(i32.mul(p.begin, p.columns), 2));
          f.for(unit, p.begin, p.end, 1, () => {
            f.set(plane, i32.add(p.x, i32.shl(i32.mul(i32.mul(i32.divU(unit, p.rows), p.height), p.width), 2)));
            f.set(edge, i32.sub(i32.mul(i32.remU(unit, p.rows), p.strideY), p.top));
            clipped(r0, edge, p.height);
            f.advance(edge, p.kh);
            clipped(r1, edge, p.height);
            f.for(column, 0, p.columns, 1, () => {
              f.set(edge, i32.sub(i32.mul(column, p.strideX), p.left));
              clipped(c0, edge, p.width);
              f.advance(edge, p.kw);
              clipped(c1, edge, p.width);
              f.set(best, f32.const(Number.NEGATIVE_INFINITY));
              f.set(sum, f64.const(0));
              f.for(r, r0, r1, 1, () => {
                const at = f.let(i32.add(plane, i32.shl(i32.add(i32.mul(r, p.width), c0), 2)));
                f.for(c, c0, c1, 1, () => {
                  if (isMax) f.set(best, f32.max(best, f32.load(at)));
                  else f.set(sum, f64.add(sum, f64.fromF32(f32.load(at))));
                  f.advance(at, 4);
                });
              });
              const counted = i32.mul(i32.sub(r1, r0), i32.sub(c1, c0));
              const count = i32.select(p.divisor, p.divisor, counted);
              f.store(p.y, isMax ? best : f32.fromF64(f64.div(sum, f64.fromI32(count))));
              f.advance(p.y, 4);
            });
          });
        });
      });
      const [kh, kw] = kernel;
      const steps = stride ?? kernel;
      return (run) => {
        const [items, channels, height, width] = tupleOf(run.shape(x), 4);
        const [, , rows, columns] = tupleOf(run.shape(y), 4);
        const args = [run.address(x), run.address(y), height, width, rows, columns, kh, kw, ...steps, ...padding];
        return ranges(call, [...args, countPadding ? kh * kw : 0], items * channels * rows, columns * kh * kw);
      };
    },
  };
}
