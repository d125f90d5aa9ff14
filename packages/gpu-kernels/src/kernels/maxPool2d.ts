import type { GpuKernelOf } from "../kernel.ts";
import { pool } from "../shared/pool.ts";

export const maxPool2d: GpuKernelOf<"maxPool2d"> = {
  steps: (call, params) => [
    pool(
      call,
      params,
      "",
      Number.NEGATIVE_INFINITY,
      (k, value, x) => {
        const isLarger = k.compare("gt", x, value.get());
        // A NaN stays: nothing is larger.
        k.if(k.either(isLarger, k.isNaN(x)), () => value.set(x));
      },
      (_k, value) => value,
    ),
  ],
};
