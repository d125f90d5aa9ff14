import type { GpuKernelOf } from "../kernel.ts";
import { deltaSteps, unsupportedDelta } from "../shared/deltaRule.ts";

export const deltaScan: GpuKernelOf<"deltaScan"> = {
  unsupported: ([q]) => unsupportedDelta(q),
  steps: (call) => deltaSteps(call, { q: 0, k: 1, v: 2, decay: 3, a: 4, b: 5, state: 6, positions: 7, rows: 8 }),
};
