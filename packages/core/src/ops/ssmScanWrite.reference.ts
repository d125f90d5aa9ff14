import type { Reference } from "../reference/referenceType.ts";
import { runsOf } from "./shared/recurrent.ts";
import { scan } from "./ssmScan.reference.ts";

export const ssmScanWrite: Reference<"ssmScanWrite"> = ([, x, dt, a, b, positions, rows], _params, state) => {
  const [states, H, P, N] = state.spec.shape as readonly [number, number, number, number];
  for (const run of runsOf("ssmScanWrite", rows, states)) {
    const before = { ...state, data: state.data.slice() };
    scan({ x, dt, a, b, state: before, positions }, run, (t, h, p, s) => {
      if (t === run.end - 1) (state.data as Float32Array).set(s, ((run.row * H + h) * P + p) * N);
    });
  }
};
