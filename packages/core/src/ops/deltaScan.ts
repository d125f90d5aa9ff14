import { lastOf } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Cost, Op } from "../program/op.ts";
import { byteLength, type ConcreteSpec, elementCount, formatSpec, type TensorSpec } from "../spec.ts";
import { bytesPerRow } from "./shared/axes.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { requireTokens } from "./shared/recurrent.ts";

/**
 * Linear attention whose state forgets by decays and by one direction per token: the generalized delta rule (Peng et al., 2025, "RWKV-7
 * Goose"). Each token updates the state `s [V, K]` of a head, then reads it:
 * `s = s · diag(decay[t, h]) + (s · a[t, h]) · b[t, h]ᵀ + v[t, h] · k[t, h]ᵀ`, both on the right the state before the token,
 * `y[t, h] = s · q[t, h]`.
 *
 * Gated DeltaNet (Yang, Kautz & Hatamizadeh, 2024, equation 10) with gates α and β, α a number per head: `decay = α, a = k, b = -α · β · k`,
 * `v = β · v`. Kimi Delta Attention has an α per element: `decay = α, a = α · k, b = -β · k, v = β · v`.
 *
 * `q, k, a, b [T, H, K], v [T, H, V], decay [T, H, K] or [T, H, 1], state [S, H, V, K], positions [T] i32, rows [T] i32 -> y [T, H, V]`,
 * f32.
 *
 * A sequence continues from row `rows[t]` of the state, where `deltaScanWrite` left it. At position 0 it starts from 0, so a state needs
 * no reset. The tokens of a sequence must be adjacent and in order of position.
 *
 * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const deltaScan: Op<["q", "k", "v", "decay", "a", "b", "state", "positions", "rows"]> = {
  name: "deltaScan",
  inputs: ["q", "k", "v", "decay", "a", "b", "state", "positions", "rows"],
  defaults: {},
  infer([q, k, v, decay, a, b, state, positions, rows]) {
    requireDelta("deltaScan", { k, v, decay, a, b, state, positions, rows });
    requireDType("deltaScan", "q", q, ["f32"]);
    requireShape("deltaScan", "q", q, k.shape);
    return v;
  },
  cost: ([, k, v, , , , state]) => deltaCost(k, v, state),
};

export type DeltaInputs<T> = Readonly<Record<"k" | "v" | "decay" | "a" | "b" | "state" | "positions", T>>;

/** Shape rule that `deltaScan` and `deltaScanWrite` share. @throws {ShapeError | DTypeError} */
export function requireDelta(
  op: string,
  { k, v, decay, a, b, state, positions, rows }: DeltaInputs<TensorSpec> & { readonly rows: TensorSpec },
): void {
  for (const [name, spec] of Object.entries({ k, v, decay, a, b, state })) requireDType(op, name, spec, ["f32"]);
  const [tokens, heads, size] = requireAxes(op, "k", k, ["T", "H", "K"]);
  const [, , channels] = requireAxes(op, "v", v, ["T", "H", "V"]);
  const [H, K, V] = [requireExtent(op, "H", heads), requireExtent(op, "K", size), requireExtent(op, "V", channels)];
  if (K === 0) throw new ShapeError(op, "k [T, H, K] with K from 1", formatSpec(k), "a state has at least one element");
  requireShape(op, "v", v, [tokens, H, V]);
  for (const [name, spec] of Object.entries({ a, b })) requireShape(op, name, spec, [tokens, H, K]);
  requireShape(op, "decay", decay, [tokens, H, decay.shape[2] === 1 ? 1 : K]);
  const [states] = requireAxes(op, "state", state, ["S", "H", "V", "K"]);
  requireShape(op, "state", state, [states, H, V, K]);
  requireTokens(op, tokens, positions, rows);
}

export function deltaCost(k: ConcreteSpec, v: ConcreteSpec, state: ConcreteSpec): Cost {
  return { flops: 9 * lastOf(k.shape) * elementCount(v.shape), bytes: 4 * byteLength(k) + 2 * byteLength(v) + bytesPerRow(state) };
}
