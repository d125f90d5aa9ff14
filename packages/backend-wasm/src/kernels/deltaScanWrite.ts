import type { Kernel } from "../kernel.ts";
import { deltaTask, emitDelta } from "./shared/deltaRule.ts";

export const deltaScanWrite: Kernel<"deltaScanWrite"> = {
  emit: emitDelta,
  build: (context, [state, k, v, decay, a, b, positions, rows]) =>
    deltaTask(context, { k, v, decay, a, b, state, positions, rows }, { keeps: true }),
};
