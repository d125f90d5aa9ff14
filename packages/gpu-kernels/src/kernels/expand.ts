import type { ExpandParams } from "@centella/core/backend";
import type { GpuKernel } from "../kernel.ts";
import { broadcastMap } from "../shared/elementwise.ts";

export const expand: GpuKernel<ExpandParams> = {
  steps: (call) => [broadcastMap(call, ({ k }, [x], [at]) => k.loadBits(x!, at!))],
};
