import type { Op } from "../program/op.ts";
import { deltaCost, requireDelta } from "./deltaScan.ts";

/**
 * Advances the states of sequences over the given tokens, as `deltaScan` does, and returns the state's next version.
 * `state [S, H, V, K], k, a, b [T, H, K], v [T, H, V], decay [T, H, K] or [T, H, 1], positions [T] i32, rows [T] i32 -> state`, f32.
 *
 * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ProgramError} unless `state` is the newest version of a persistent
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const deltaScanWrite: Op<["state", "k", "v", "decay", "a", "b", "positions", "rows"]> = {
  name: "deltaScanWrite",
  inputs: ["state", "k", "v", "decay", "a", "b", "positions", "rows"],
  defaults: {},
  writes: 0,
  infer([state, k, v, decay, a, b, positions, rows]) {
    requireDelta("deltaScanWrite", { k, v, decay, a, b, state, positions, rows });
    return state;
  },
  cost: ([state, k, v]) => deltaCost(k, v, state),
};
