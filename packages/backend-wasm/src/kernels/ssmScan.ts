import type { Kernel } from "../kernel.ts";
import { emitScan, scanTask } from "./shared/selectiveScan.ts";

/** When fused with `ssmScanWrite`, the state's next version is an extra output. */
export const ssmScan: Kernel<"ssmScan"> = {
  emit: emitScan,
  build: (context, [x, dt, a, b, c, state, positions, rows], _params, y, states) =>
    scanTask(
      context,
      { x: x, dt: dt, a: a, b: b, state: state, positions: positions, rows: rows },
      { outputs: { c: c, y }, keeps: states !== undefined },
    ),
};
