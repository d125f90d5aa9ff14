import { elementCount, tupleOf } from "@centella/core/backend";
import { f32x4, i32, v128 } from "../emit/index.ts";
import type { Kernel, Run } from "../kernel.ts";
import { ranges } from "./shared/axes.ts";
import { forEachVector } from "./shared/loops.ts";
import { emitMoments, inverseDeviation, zeros } from "./shared/moments.ts";

const signature = {
  x: "i32",
  w: "i32",
  bias: "i32",
  y: "i32",
  groups: "i32",
  channels: "i32",
  points: "i32",
  eps: "f64",
  begin: "i32",
  end: "i32",
} as const;

/** A unit is a group of an item; `channels` counts those of a group. `bias` is 0 if absent. */
export const groupNorm: Kernel<"groupNorm"> = {
  build(context, [x, w, bias], { groups, eps }, y) {
    const call = context.emit("groupNorm", (module, name) => {
      module.function(name, signature, (f, p) => {
        const { x: from, w: weights, bias: offsets, y: to, channels, points, begin, end } = p;
        const n = f.let(i32.mul(channels, points));
        const start = f.let(i32.shl(i32.mul(begin, n), 2));
        const [unit, channel, left, first] = f.locals("i32", 4);
        f.advance(from, start);
        f.advance(to, start);
        f.for(unit, begin, end, 1, () => {
          const moments = emitMoments(f, from, n);
          const mean = f.let(f32x4.splat(moments.mean));
          const factor = inverseDeviation(f, moments.squares, n, p.eps);
          f.set(first, i32.shl(i32.mul(i32.remU(unit, p.groups), channels), 2));
          f.for(channel, 0, channels, 1, () => {
            const scale = f.let(f32x4.mul(factor, v128.load32Splat(i32.add(weights, first))));
            const offset = f.let(v128.load32Splat(i32.add(offsets, first)));
            const [at, out] = [f.let(from), f.let(to)];
            f.set(left, points);
            forEachVector(f, left, [at, out], (step, store) => {
              store(out, f32x4.add(f32x4.mul(f32x4.sub(v128.load(at, step), mean), scale), offset));
            });
            f.advance(from, i32.shl(points, 2));
            f.advance(to, i32.shl(points, 2));
            f.advance(first, 4);
          });
        });
      });
    });
    const biasAt = bias === undefined ? zeros(context, w) : (run: Run) => run.address(bias);
    return (run) => {
      const shape = run.shape(x);
      const [items, channels] = tupleOf(shape.slice(0, 2), 2);
      const [perGroup, points] = [channels / groups, elementCount(shape.slice(2))];
      const args = [run.address(x), run.address(w), biasAt(run), run.address(y), groups, perGroup, points, eps];
      return ranges(call, args, perGroup * points === 0 ? 0 : items * groups, perGroup * points);
    };
  },
};
