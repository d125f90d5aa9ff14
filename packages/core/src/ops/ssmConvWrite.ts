import type { Op } from "../program/op.ts";
import { byteLength } from "../spec.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { requireTokens } from "./shared/recurrent.ts";

/**
 * Stores the latest tokens of each sequence for the next `ssmConv` and returns the state's next version.
 * `state [S, K - 1, C], x [T, C], positions [T] i32, rows [T] i32 -> state`, f32. Places before position 0 become 0.
 *
 * Sequences must have different rows. A row outside `[0, S)` is an error on the scalar reference; other backends skip its tokens.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ProgramError} unless `state` is the newest version of a persistent
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const ssmConvWrite: Op<["state", "x", "positions", "rows"]> = {
  name: "ssmConvWrite",
  inputs: ["state", "x", "positions", "rows"],
  defaults: {},
  writes: 0,
  infer([state, x, positions, rows]) {
    for (const [name, spec] of Object.entries({ state, x })) requireDType("ssmConvWrite", name, spec, ["f32"]);
    const [, , channels] = requireAxes("ssmConvWrite", "state", state, ["S", "K - 1", "C"]);
    const [tokens] = requireAxes("ssmConvWrite", "x", x, ["T", "C"]);
    requireShape("ssmConvWrite", "x", x, [tokens, requireExtent("ssmConvWrite", "C", channels)]);
    requireTokens("ssmConvWrite", tokens, positions, rows);
    return state;
  },
  cost: ([, x]) => ({ flops: 0, bytes: 2 * byteLength(x) }),
};
