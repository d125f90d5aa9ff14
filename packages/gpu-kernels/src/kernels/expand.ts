import type { GpuKernelOf } from "../kernel.ts";
import { broadcastMap } from "../shared/elementwise.ts";

export const expand: GpuKernelOf<"expand"> = {
  steps: (call) => [broadcastMap(call, ({ k }, [x]) => k.loadBits(x.name, x.at))],
};
