import { layoutOf, tupleOf } from "@centella/core/backend";
import { type FunctionBuilder, f32x4, i32, i32x4, type Local, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { axisView, ranges } from "./shared/axes.ts";
import { copyBytes } from "./shared/copies.ts";
import { forEachVector } from "./shared/loops.ts";

const signature = {
  x: "i32",
  indices: "i32",
  updates: "i32",
  y: "i32",
  n: "i32",
  count: "i32",
  bytes: "i32",
  begin: "i32",
  end: "i32",
} as const;

/**
 * A unit is an outer index, so updates of the same place keep their order. Updates whose index is out of range are
 * skipped.
 */
export const scatter: Kernel<"scatter"> = {
  build({ emit }, [x, indices, updates], { axis, mode }, y) {
    const { dtype } = y.spec;
    const isSum = mode === "add";
    const call = emit(`scatter ${isSum ? dtype : ""}`, (module, name) => {
      module.function(name, signature, (f, p) => {
        const [unit, i, index, from, to, left] = f.locals("i32", 6);
        const plane = f.let(i32.mul(p.n, p.bytes));
        f.advance(p.updates, i32.mul(p.begin, i32.mul(p.count, p.bytes)));
        f.for(unit, p.begin, p.end, 1, () => {
          f.set(to, i32.add(p.y, i32.mul(unit, plane)));
          f.memoryCopy(to, i32.add(p.x, i32.mul(unit, plane)), plane);
          f.for(i, 0, p.count, 1, () => {
            f.set(index, i32.load(i32.add(p.indices, i32.shl(i, 2))));
            f.if(i32.ltU(index, p.n), () => {
              f.set(from, p.updates);
              f.set(to, i32.add(p.y, i32.add(i32.mul(unit, plane), i32.mul(index, p.bytes))));
              f.set(left, p.bytes);
              if (isSum) addElements(f, dtype === "f32", to, from, left);
              else copyBytes(f, to, from, left);
            });
            f.advance(p.updates, p.bytes);
          });
        });
      });
    });
    const size = layoutOf(dtype).bytes;
    return (run) => {
      const { outer, n, inner } = axisView(run.shape(x), axis);
      const [count] = tupleOf(run.shape(indices), 1);
      const places = [x, indices, updates, y].map((operand) => run.address(operand));
      return ranges(call, [...places, n, count, inner * size], n * inner === 0 ? 0 : outer, (n + count) * inner);
    };
  },
};

/** `to += from` over `bytes` bytes of f32 or i32. */
function addElements(f: FunctionBuilder, isFloat: boolean, to: Local<"i32">, from: Local<"i32">, bytes: Local<"i32">): void {
  const add = isFloat ? f32x4.add : i32x4.add;
  f.set(bytes, i32.shrU(bytes, 2));
  forEachVector(f, bytes, [from, to], (offset, store) => store(to, add(v128.load(to, offset), v128.load(from, offset))));
}
