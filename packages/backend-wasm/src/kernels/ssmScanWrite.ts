import type { Kernel } from "../kernel.ts";
import { emitScan, scanTask } from "./shared/selectiveScan.ts";

export const ssmScanWrite: Kernel<"ssmScanWrite"> = {
  emit: emitScan,
  build: (context, [state, x, dt, a, b, positions, rows]) =>
    scanTask(context, { x: x, dt: dt, a: a, b: b, state: state, positions: positions, rows: rows }, { keeps: true }),
};
