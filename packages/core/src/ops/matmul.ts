import { lastOf } from "@centella/quant/checks";
import { isInteger, isQuantized } from "../dtype.ts";
import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, type Dim, elementCount, formatSpec, sameDim, type TensorSpec } from "../spec.ts";
import { requireBoolean, requireOneOf } from "./shared/checks.ts";
import { broadcast, requireDType } from "./shared/elementwise.ts";
import { type Activations, activationModes } from "./shared/transposedProduct.ts";

export interface MatmulParams {
  /** Whether `a` is stored as `[..., k, m]`. */
  readonly transposeA: boolean;
  /** Whether `b` is stored as `[..., n, k]`, as weights are in GGUF files. A quantised `b` must be. */
  readonly transposeB: boolean;
  /**
   * Precision of the operands. Sums are f32 in every mode.
   *
   * - "f32" multiplies exact activations with the dequantised weights.
   * - "half" permits a backend to round both operands to f16, or to bf16 for bf16 weights, as tensor cores do. Rows that would overflow
   *   are scaled by a power of two. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
   *   products' magnitudes. A backend may also compute exactly, as the reference does.
   * - "ggml" first rounds each row of `a` as ggml's CPU code does. For a quantised `b` it rounds to the 8-bit blocks that ggml pairs with
   *   that type, which changes results by about 1e-2 relative. For f16 and bf16 it rounds to the type of `b`. For f32 it equals "f32".
   *   A backend may then round the operands as for "half", which changes much less.
   */
  readonly activations: Activations;
}

/**
 * Matrix product with broadcast batch axes.
 * `a [..., m, k], b [..., k, n] -> y [..., m, n]`, f32. `b` may also be f16, bf16 or a block type; a block type needs `transposeB`,
 * because its blocks run along k.
 * @throws {ShapeError} if the inner extents differ, a rank is below 2, or the batch axes do not broadcast
 * @throws {DTypeError} if `a` is not f32, or `b` is an integer or bool
 * @throws {ArgumentError} for an unknown option, and for a quantised `b` without `transposeB`
 */
export const matmul: Op<["a", "b"], MatmulParams, keyof MatmulParams> = {
  name: "matmul",
  computeBound: true,
  inputs: ["a", "b"],
  defaults: { transposeA: false, transposeB: false, activations: "f32" },
  infer([a, b], { transposeA, transposeB, activations }) {
    requireDType("matmul", "a", a, ["f32"]);
    if (isInteger(b.dtype)) requireDType("matmul", "b", b, ["f32", "f16", "bf16", "a block type"]);
    requireBoolean("matmul", "transposeA", transposeA);
    requireBoolean("matmul", "transposeB", transposeB);
    requireOneOf("matmul", "activations", activations, activationModes);
    if (isQuantized(b.dtype) && !transposeB) {
      throw new ArgumentError(
        "matmul",
        `transposeB for b in ${b.dtype}, whose blocks run along k`,
        "transposeB: false",
        "store b as [n, k]",
      );
    }
    const [m, k] = matrixDims(a, transposeA);
    const [k2, n] = matrixDims(b, transposeB);
    if (!sameDim(k, k2)) {
      throw new ShapeError("matmul", expected(transposeA, transposeB), `${formatSpec(a)} and ${formatSpec(b)}`, "transpose one of them");
    }
    return { dtype: "f32", shape: [...broadcast("matmul", a.shape.slice(0, -2), b.shape.slice(0, -2)), m, n] };
  },
  cost([a, b], { transposeA }, y) {
    const k = lastOf(transposeA ? a.shape.slice(0, -1) : a.shape);
    return { flops: 2 * k * elementCount(y.shape), bytes: byteLength(a) + byteLength(b) + byteLength(y) };
  },
};

function matrixDims({ shape, dtype }: TensorSpec, transposed: boolean): readonly [Dim, Dim] {
  if (shape.length < 2)
    throw new ShapeError("matmul", "matrices of rank 2 or more", formatSpec({ shape, dtype }), "reshape a vector to [1, k] or [k, 1]");
  const [rows, columns] = shape.slice(-2) as [Dim, Dim];
  return transposed ? [columns, rows] : [rows, columns];
}

function expected(transposeA: boolean, transposeB: boolean): string {
  return `a [..., ${transposeA ? "k, m" : "m, k"}] x b [..., ${transposeB ? "n, k" : "k, n"}]`;
}
