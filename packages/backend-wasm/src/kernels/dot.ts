import { f32, f32x4, v128 } from "../emit/index.ts";
import type { Kernel } from "../kernel.ts";
import { blockSum } from "./shared/sum.ts";

export const dot: Kernel = {
  emit(module) {
    module.function("dot", { a: "i32", b: "i32", y: "i32", n: "i32" }, (f, { a, b, y, n }) => {
      const total = blockSum(
        f,
        n,
        (offset) => f32x4.mul(v128.load(a, offset), v128.load(b, offset)),
        () => f32.mul(f32.load(a), f32.load(b)),
        (elements) => {
          f.advance(a, 4 * elements);
          f.advance(b, 4 * elements);
        },
      );
      f.store(y, f32.fromF64(total));
    });
  },
  build({ exports }, [a, b], _params, y) {
    const call = exports("dot");
    return (run) => void call(run.address(a!), run.address(b!), run.address(y), run.shape(a!)[0]!);
  },
};
