import type { Op } from "../op.ts";
import { runsOf } from "./shared/recurrent.ts";
import { requireScan, scan, scanCost } from "./ssmScan.ts";

/**
 * Takes the states of sequences over some tokens, as `ssmScan` does, and returns their next version.
 * `state [S, H, P, N], x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], positions [T] i32, rows [T] i32 -> state`, f32.
 *
 * Rows must differ between sequences. One outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
 * @throws {ShapeError | DTypeError | ProgramError} and, when the reference runs, {ArgumentError}
 */
export const ssmScanWrite: Op<["state", "x", "dt", "a", "b", "positions", "rows"]> = {
  name: "ssmScanWrite",
  inputs: ["state", "x", "dt", "a", "b", "positions", "rows"],
  defaults: {},
  writes: 0,
  infer([state, x, dt, a, b, positions, rows]) {
    requireScan("ssmScanWrite", { x: x!, dt: dt!, a: a!, b: b!, state: state!, positions: positions!, rows: rows! });
    return state!;
  },
  cost: ([state, x, , , b]) => scanCost(x!, b!, state!, x!),
  reference([, x, dt, a, b, positions, rows], _params, state) {
    const [states, H, P, N] = state.spec.shape as readonly [number, number, number, number];
    for (const run of runsOf("ssmScanWrite", rows!, states)) {
      const before = { ...state, data: state.data.slice() };
      scan({ x: x!, dt: dt!, a: a!, b: b!, state: before, positions: positions! }, run, (t, h, p, s) => {
        if (t === run.end - 1) (state.data as Float32Array).set(s, ((run.row * H + h) * P + p) * N);
      });
    }
  },
};
