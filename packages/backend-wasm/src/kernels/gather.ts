import { elementCount, layoutOf } from "@centella/core/backend";
import { i32 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { axisView, ranges } from "./shared/axes.ts";
import { copyBytes } from "./shared/copies.ts";

const signature = {
  x: "i32",
  indices: "i32",
  fallback: "i32",
  y: "i32",
  n: "i32",
  count: "i32",
  bytes: "i32",
  begin: "i32",
  end: "i32",
} as const;

/** A unit is a slice. A slice whose index is out of range is the fallback's, or zeros. */
export const gather: Kernel<"gather"> = {
  build({ emit }, [x, indices, fallback], { axis }, y) {
    const size = layoutOf(y.spec.dtype).bytes;
    const call = emit(fallback === undefined ? "gather" : "gather fallback", (module, name) => {
      module.function(name, signature, (f, p) => {
        const [unit, index, from, left] = f.locals("i32", 4);
        f.advance(p.y, i32.mul(p.begin, p.bytes));
        f.for(unit, p.begin, p.end, 1, () => {
          f.set(index, i32.load(i32.add(p.indices, i32.shl(i32.remU(unit, p.count), 2))));
          f.set(left, p.bytes);
          f.if(
            i32.ltU(index, p.n),
            () => {
              f.set(from, i32.add(i32.mul(i32.divU(unit, p.count), p.n), index));
              f.set(from, i32.add(p.x, i32.mul(from, p.bytes)));
              copyBytes(f, p.y, from, left);
            },
            () => {
              if (fallback !== undefined) {
                f.set(from, i32.add(p.fallback, i32.mul(unit, p.bytes)));
                copyBytes(f, p.y, from, left);
              } else {
                f.memoryFill(p.y, 0, left);
                f.advance(p.y, left);
              }
            },
          );
        });
      });
    });
    return (run) => {
      const { outer, n, inner } = axisView(run.shape(x), axis);
      const count = elementCount(run.shape(indices));
      const other = fallback === undefined ? 0 : run.address(fallback);
      const args = [run.address(x), run.address(indices), other, run.address(y), n, count, inner * size];
      return ranges(call, args, outer * count, inner);
    };
  },
};
