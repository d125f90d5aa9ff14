import { elementCount, mapTuple } from "@centella/core/backend";
import { storeSome } from "../elementwise/lanes.ts";
import { f32x4, f64x2, i32, i32x4 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";

/** `start + i * step` in f64, which is exact for i32. */
export const arange: Kernel<"arange"> = {
  build({ emit }, _inputs, { start, step, dtype }, y) {
    const signature = { y: "i32", start: "f64", step: "f64", begin: "i32", end: "i32" } as const;
    const call = emit(`arange ${dtype}`, (module, name) => {
      module.function(name, signature, (f, { y: to, start: from, step: by, begin, end }) => {
        const [first, distance] = [f.let(f64x2.splat(from)), f.let(f64x2.splat(by))];
        const index = f.let(i32x4.add(i32x4.splat(begin), f.pooled(new Uint8Array(Int32Array.of(0, 1, 2, 3).buffer))));
        const left = f.let(i32.sub(end, begin));
        f.advance(to, i32.shl(begin, 2));
        f.while(left, () => {
          const halves = mapTuple([index, f32x4.shuffle(index, index, [2, 3, 2, 3])], (pair) =>
            f.let(f64x2.add(first, f64x2.mul(f64x2.convertLowI32x4U(pair), distance))),
          );
          const [low, high] = mapTuple(halves, (half) => f.let(dtype === "i32" ? i32x4.truncSatF64x2S(half) : f32x4.demoteF64x2(half)));
          storeSome(f, dtype, to, f32x4.shuffle(low, high, [0, 1, 4, 5]), left);
          f.set(index, i32x4.add(index, f.splatBits(4)));
          f.advance(to, 16);
          f.countDown(left, 4);
        });
      });
    });
    return (run) => ranges(call, [run.address(y), start, step], elementCount(run.shape(y)), 1);
  },
};
