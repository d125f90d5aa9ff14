import { isInteger, isQuantized } from "../dtype.ts";
import { ArgumentError, ShapeError } from "../errors.ts";
import type { Op } from "../program/op.ts";
import { byteLength, type Dim, elementCount, formatSpec, sameDim, type TensorSpec } from "../spec.ts";
import { requireBoolean, requireOneOf } from "./shared/checks.ts";
import { broadcast, requireDType } from "./shared/elementwise.ts";
import { type Activations, activationModes } from "./shared/transposedProduct.ts";

export interface MatmulParams {
  /** `a` is stored as `[..., k, m]`. */
  readonly transposeA: boolean;
  /** `b` is stored as `[..., n, k]`: how GGUF stores weights. Quantised `b` must be stored so. */
  readonly transposeB: boolean;
  /**
   * Precision of the operands. Sums are f32 in every mode.
   *
   * - "f32" multiplies exact activations with the dequantised weights.
   * - "half" permits a backend to round both operands to f16, with rows scaled by a power of two where they would overflow, or to bf16
   *   for bf16 weights, as tensor cores do. A result differs from the exact one by at most `2^-10` (bf16: `2^-7`) times the sum of the
   *   products' magnitudes. A backend may also compute exactly, as the reference does.
   * - "ggml" first rounds each row of `a` as ggml's CPU code does: for a quantised `b` to the 8-bit blocks that it pairs with that type,
   *   which changes results by about 1e-2 relative, and for f16 and bf16 to the type of `b`. With f32 it is "f32".
   */
  readonly activations: Activations;
}

/**
 * Matrix product with broadcast batch axes: `a [..., m, k] x b [..., k, n] -> y [..., m, n]`, f32.
 * `a` is f32; `b` is f32, f16, bf16 or a block type (then `transposeB`, blocks along k).
 * @throws {ShapeError | DTypeError | ArgumentError}
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
        `transposeB with a b of ${b.dtype}, whose blocks run along k`,
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
    const k = a.shape.at(transposeA ? -2 : -1)!;
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
