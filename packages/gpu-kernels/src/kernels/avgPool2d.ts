import type { GpuKernelOf } from "../kernel.ts";
import { pool } from "../shared/pool.ts";

export const avgPool2d: GpuKernelOf<"avgPool2d"> = {
  steps: (call, params) => [
    pool(
      call,
      params,
      params.countPadding ? "padded" : "",
      0,
      (k, sum, x) => sum.set(k.add(sum.get(), x)),
      (k, sum, count) => {
        const [height, width] = params.kernel;
        return k.div(sum, params.countPadding ? k.constant("f32", height * width) : k.convert("f32", count));
      },
    ),
  ],
};
