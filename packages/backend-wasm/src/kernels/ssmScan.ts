import type { Kernel } from "../kernel.ts";
import { emitScan, scanTask } from "./shared/selectiveScan.ts";

export const ssmScan: Kernel = {
  emit: (module, target) => emitScan(module, target, "ssmScan"),
  build: (context, [x, dt, a, b, c, state, positions, rows], _params, y) =>
    scanTask(context, "ssmScan", { x: x!, dt: dt!, a: a!, b: b!, state: state!, positions: positions!, rows: rows! }, { c: c!, y }),
};
