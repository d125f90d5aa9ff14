import type { Op } from "../program/op.ts";
import { requireScan, scanCost } from "./ssmScan.ts";

/**
 * Advances the states of sequences over the given tokens, as `ssmScan` does, and returns the state's next version.
 * `state [S, H, P, N], x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], positions [T] i32, rows [T] i32 -> state`, f32.
 *
 * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ProgramError} unless `state` is the newest version of a persistent
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const ssmScanWrite: Op<["state", "x", "dt", "a", "b", "positions", "rows"]> = {
  name: "ssmScanWrite",
  inputs: ["state", "x", "dt", "a", "b", "positions", "rows"],
  defaults: {},
  writes: 0,
  infer([state, x, dt, a, b, positions, rows]) {
    requireScan("ssmScanWrite", { x, dt, a, b, state, positions, rows });
    return state;
  },
  cost: ([state, x, , , b]) => scanCost(x, b, state, x),
};
