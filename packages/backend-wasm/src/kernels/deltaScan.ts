import type { Kernel } from "../kernel.ts";
import { deltaTask, emitDelta } from "./shared/deltaRule.ts";

/** When fused with `deltaScanWrite`, the state's next version is an extra output. */
export const deltaScan: Kernel<"deltaScan"> = {
  emit: emitDelta,
  build: (context, [q, k, v, decay, a, b, state, positions, rows], _params, y, states) =>
    deltaTask(context, { k, v, decay, a, b, state, positions, rows }, { outputs: { q, y }, keeps: states !== undefined }),
};
