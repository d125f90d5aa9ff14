import { lastOf } from "@centella/quant/checks";
import { ShapeError } from "../errors.ts";
import type { Cost, Op } from "../program/op.ts";
import { byteLength, type ConcreteSpec, elementCount, formatSpec, type TensorSpec } from "../spec.ts";
import { bytesPerRow } from "./shared/axes.ts";
import { requireAxes, requireExtent, requireShape } from "./shared/checks.ts";
import { requireDType } from "./shared/elementwise.ts";
import { requireTokens } from "./shared/recurrent.ts";

/**
 * Selective state space (Gu & Dao, 2023, "Mamba", algorithm 2), with heads and groups as in Mamba-2 (Dao & Gu, 2024). Head h with channels
 * p is in group g = h · G / H; its state s has N elements per channel. Each token updates the state, then reads it:
 * `s[h, p, n] = exp(dt[t, h] · a[h, n]) · s[h, p, n] + dt[t, h] · b[t, g, n] · x[t, h, p]`,
 * `y[t, h, p] = Σ_n c[t, g, n] · s[h, p, n]`.
 *
 * `x [T, H, P], dt [T, H], a [H, N] or [H, 1], b [T, G, N], c [T, G, N], state [S, H, P, N], positions [T] i32, rows [T] i32 -> y [T, H,
 * P]`, f32. Mamba has P = 1 and G = 1.
 *
 * A sequence continues from row `rows[t]` of the state, where `ssmScanWrite` left it. At position 0 it starts from 0, so a state needs no
 * reset. The tokens of a sequence must be adjacent and in order of position.
 *
 * A row outside `[0, S)` is an error on the scalar reference; on other backends the results of its tokens are undefined.
 * @throws {ShapeError | DTypeError} if the tensors do not fit these shapes and dtypes
 * @throws {ArgumentError} for a row out of range, when the reference runs
 */
export const ssmScan: Op<["x", "dt", "a", "b", "c", "state", "positions", "rows"]> = {
  name: "ssmScan",
  inputs: ["x", "dt", "a", "b", "c", "state", "positions", "rows"],
  defaults: {},
  infer([x, dt, a, b, c, state, positions, rows]) {
    requireScan("ssmScan", { x, dt, a, b, state, positions, rows });
    requireDType("ssmScan", "c", c, ["f32"]);
    requireShape("ssmScan", "c", c, b.shape);
    return x;
  },
  cost: ([x, , , b, , state], _params, y) => scanCost(x, b, state, y),
};

export type Scanned<T> = Readonly<Record<"x" | "dt" | "a" | "b" | "state" | "positions", T>>;

/** Shape rule that `ssmScan` and `ssmScanWrite` share. @throws {ShapeError | DTypeError} */
export function requireScan(
  op: string,
  { x, dt, a, b, state, positions, rows }: Scanned<TensorSpec> & { readonly rows: TensorSpec },
): void {
  for (const [name, spec] of Object.entries({ x, dt, a, b, state })) requireDType(op, name, spec, ["f32"]);
  const [tokens, heads, channels] = requireAxes(op, "x", x, ["T", "H", "P"]);
  const [, groups, size] = requireAxes(op, "b", b, ["T", "G", "N"]);
  const [H, P] = [requireExtent(op, "H", heads), requireExtent(op, "P", channels)];
  const [G, N] = [requireExtent(op, "G", groups), requireExtent(op, "N", size)];
  if (G === 0 || H % G !== 0)
    throw new ShapeError(op, `b [T, G, N] with H = ${H} a multiple of G`, formatSpec(b), "each group serves an equal number of heads");
  if (N === 0) throw new ShapeError(op, "b [T, G, N] with N from 1", formatSpec(b), "a state has at least one element");
  requireShape(op, "b", b, [tokens, G, N]);
  requireShape(op, "dt", dt, [tokens, H]);
  const [, decays] = requireAxes(op, "a", a, ["H", "N or 1"]);
  requireShape(op, "a", a, [H, decays === 1 ? 1 : N]);
  const [states] = requireAxes(op, "state", state, ["S", "H", "P", "N"]);
  requireShape(op, "state", state, [states, H, P, N]);
  requireTokens(op, tokens, positions, rows);
}

export function scanCost(x: ConcreteSpec, b: ConcreteSpec, state: ConcreteSpec, y: ConcreteSpec): Cost {
  const size = lastOf(b.shape);
  return { flops: 8 * size * elementCount(x.shape), bytes: byteLength(x) + 2 * byteLength(b) + bytesPerRow(state) + byteLength(y) };
}
