import { lastOf } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, elementCount, formatSpec } from "../spec.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { requireTokens } from "./shared/recurrent.ts";

/**
 * Causal convolution of each channel with its own filter over the latest K tokens of a sequence (Gu & Dao, 2023, "Mamba", section 3.4):
 * `y[t, c] = Σ_j filter[c, j] · x[t - K + 1 + j, c]`. With K = 3 it is the short convolution of LFM2.
 * `x [T, C], filter [C, K], state [S, K - 1, C], positions [T] i32, rows [T] i32 -> y [T, C]`, f32.
 *
 * Tokens before those of the call are in row `rows[t]` of the state, oldest first, where `ssmConvWrite` stored them. Tokens before
 * position 0 count as 0, so a state needs no reset. The tokens of a sequence must be adjacent and in order of position.
 *
 * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const ssmConv: Op<["x", "filter", "state", "positions", "rows"]> = {
  name: "ssmConv",
  inputs: ["x", "filter", "state", "positions", "rows"],
  defaults: {},
  infer([x, filter, state, positions, rows]) {
    for (const [name, spec] of Object.entries({ x, filter, state })) requireDType("ssmConv", name, spec, ["f32"]);
    const [tokens, channels] = requireAxes("ssmConv", "x", x, ["T", "C"]);
    const [, taps] = requireAxes("ssmConv", "filter", filter, ["C", "K"]);
    const size = requireExtent("ssmConv", "K", taps);
    if (size < 2) throw new ShapeError("ssmConv", "filter [C, K] with K from 2", formatSpec(filter), "use mul() for a single tap");
    requireShape("ssmConv", "filter", filter, [requireExtent("ssmConv", "C", channels), size]);
    const [states] = requireAxes("ssmConv", "state", state, ["S", "K - 1", "C"]);
    requireShape("ssmConv", "state", state, [states, size - 1, channels]);
    requireTokens("ssmConv", tokens, positions, rows);
    return x;
  },
  cost([x, filter], _params, y) {
    return { flops: 2 * lastOf(filter.shape) * elementCount(y.shape), bytes: byteLength(x) + byteLength(filter) + byteLength(y) };
  },
};
