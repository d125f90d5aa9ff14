import type { GpuKernelOf } from "../kernel.ts";
import { deltaSteps, unsupportedDelta } from "../shared/deltaRule.ts";

export const deltaScanWrite: GpuKernelOf<"deltaScanWrite"> = {
  unsupported: ([, k]) => unsupportedDelta(k),
  steps: (call) => deltaSteps(call, { state: 0, k: 1, v: 2, decay: 3, a: 4, b: 5, positions: 6, rows: 7 }),
};
