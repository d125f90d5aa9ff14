import { bytesOf } from "../elementwise/lanes.ts";
import { i32 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { axisView, ranges } from "./shared/axes.ts";
import { copyElement } from "./shared/copies.ts";

const signature = { x: "i32", indices: "i32", y: "i32", n: "i32", count: "i32", inner: "i32", begin: "i32", end: "i32" } as const;

/** A unit is a line of `inner` elements. An element whose index is out of range becomes 0. */
export const takeAlongAxis: Kernel<"takeAlongAxis"> = {
  build({ emit }, [x, indices], { axis }, y) {
    const size = bytesOf(y.spec.dtype);
    const call = emit(`takeAlongAxis ${size}`, (module, name) => {
      module.function(name, signature, (f, p) => {
        const [unit, index, plane, column, at] = f.locals("i32", 5);
        const first = f.let(i32.mul(p.begin, p.inner));
        f.advance(p.indices, i32.shl(first, 2));
        f.advance(p.y, i32.mul(first, size));
        f.for(unit, p.begin, p.end, 1, () => {
          f.set(plane, i32.mul(i32.divU(unit, p.count), p.n));
          f.for(column, 0, p.inner, 1, () => {
            f.set(index, i32.load(p.indices));
            f.set(at, i32.add(i32.mul(i32.add(plane, index), p.inner), column));
            f.if(
              i32.ltU(index, p.n),
              () => copyElement(f, size, p.y, i32.add(p.x, i32.mul(at, size))),
              () => f.memoryFill(p.y, 0, size),
            );
            f.advance(p.indices, 4);
            f.advance(p.y, size);
          });
        });
      });
    });
    return (run) => {
      const { n } = axisView(run.shape(x), axis);
      const { outer, n: count, inner } = axisView(run.shape(y), axis);
      const args = [run.address(x), run.address(indices), run.address(y), n, count, inner];
      return ranges(call, args, outer * count, inner);
    };
  },
};
