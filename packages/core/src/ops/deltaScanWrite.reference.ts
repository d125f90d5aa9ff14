import type { Reference } from "../reference/referenceType.ts";
import { scanDelta } from "./deltaScan.reference.ts";
import { runsOf } from "./shared/recurrent.ts";

export const deltaScanWrite: Reference<"deltaScanWrite"> = ([, k, v, decay, a, b, positions, rows], _params, state) => {
  const [states, H, V, K] = state.spec.shape as readonly [number, number, number, number];
  for (const run of runsOf("deltaScanWrite", rows, states)) {
    const before = { ...state, data: state.data.slice() };
    scanDelta({ k, v, decay, a, b, state: before, positions }, run, (t, h, channel, s) => {
      if (t === run.end - 1) (state.data as Float32Array).set(s, ((run.row * H + h) * V + channel) * K);
    });
  }
};
