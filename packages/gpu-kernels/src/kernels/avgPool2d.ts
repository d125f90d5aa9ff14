import type { AvgPool2dParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { pool } from "../shared/pool.ts";

export const avgPool2d: GpuKernel<AvgPool2dParams> = {
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
