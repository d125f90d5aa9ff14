import { matmulGoldens } from "../goldens/matmul.ts";
import { bfloatProducts, blockTypes, f32, halfProducts, type OpCase, type OpCases, type Tolerance, tensor } from "../opCases.ts";

/**
 * ggml multiplies the minima of q4_1 and q5_1 by sums of activations that it stores as f16, and so does the reference. Backends may sum
 * the rounded activations instead. Sums of 32 values of size 1 are off by up to 2^-8, and 16 of them are multiplied by minima of up to 2.
 */
const storedSums: Tolerance = { rtol: 1e-5, atol: 0.03 };

/** Every block type with one row and with several, with exact activations and with ggml's rounding. */
const quantized: readonly OpCase<"matmul">[] = blockTypes.flatMap((type) =>
  [1, 5].flatMap((rows) =>
    (["f32", "ggml"] as const).map(
      (activations): OpCase<"matmul"> => ({
        name: `${type} weight, ${rows} x 512, ${activations} activations`,
        inputs: [f32(rows, 512), tensor(type, 19, 512)],
        params: { transposeB: true, activations },
        ...(activations === "ggml" && (type === "q4_1" || type === "q5_1") && { tolerance: storedSums }),
      }),
    ),
  ),
);

/** ggml rounds rows to the type of 16-bit weights: at one row, a few and many, with lengths of and between whole vectors. */
const rounded16: readonly OpCase<"matmul">[] = (["f16", "bf16"] as const).flatMap((dtype) => [
  ...[1, 3, 40].flatMap((rows) =>
    [512, 67].map(
      (k): OpCase<"matmul"> => ({
        name: `${dtype} weight, ${rows} x ${k}, ggml activations`,
        inputs: [f32(rows, k), { ...tensor(dtype, 19, k), as: "persistent" }],
        params: { transposeB: true, activations: "ggml" },
      }),
    ),
  ),
  {
    name: `${dtype} weight, plain, ggml activations`,
    inputs: [f32(5, 19), { ...tensor(dtype, 19, 33), as: "persistent" }],
    params: { activations: "ggml" },
  },
  {
    name: `${dtype} input, a transposed, batched, ggml activations`,
    inputs: [f32(3, 21, 5), tensor(dtype, 3, 7, 21)],
    params: { transposeA: true, transposeB: true, activations: "ggml" },
  },
]);

const halfTypes = ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_K", "q5_K", "q6_K", "iq4_xs", "iq2_xs"] as const;
const otherHalfTypes = blockTypes.filter((type) => !halfTypes.some((half) => half === type));

/**
 * Operands that a backend may round to f16 or bf16: weights of all kinds, at numbers of rows around those that kernels take at once, and rows that
 * f16 cannot hold.
 */
const half: readonly OpCase<"matmul">[] = [
  ...[...halfTypes, ...otherHalfTypes].flatMap((dtype, i) =>
    (i < halfTypes.length ? [1, 2, 8, 17, 64, 65] : [1, 65]).map(
      (rows): OpCase<"matmul"> => ({
        name: `${dtype} weight, ${rows} x 512, half activations`,
        inputs: [f32(rows, 512), { ...tensor(dtype, 19, 512), as: "persistent" }],
        params: { transposeB: true, activations: "half" },
        tolerance: dtype === "bf16" ? bfloatProducts : halfProducts,
      }),
    ),
  ),
  {
    name: "rows beyond f16, half activations",
    inputs: [
      { dtype: "f32", shape: [3, 64], fill: { low: -3e6, high: 3e6 } },
      { ...tensor("q8_0", 8, 64), as: "persistent" },
    ],
    params: { transposeB: true, activations: "half" },
    tolerance: halfProducts,
  },
  { name: "two inputs, half activations", inputs: [f32(5, 67), f32(67, 33)], params: { activations: "half" }, tolerance: halfProducts },
];

export const matmul: OpCases<"matmul"> = {
  // f32 sums of up to 512 products of size 1, in any order; weights of block types reach 2.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-4 } },
  cases: [
    ...matmulGoldens,
    { name: "vector by matrix", inputs: [f32(1, 67), f32(67, 33)] },
    { name: "few rows by a deep matrix", inputs: [f32(3, 300), f32(300, 21)] },
    { name: "few rows by a deep weight", inputs: [f32(3, 300), f32(21, 300)], params: { transposeB: true } },
    { name: "vector by weight", inputs: [f32(1, 67), { ...f32(33, 67), as: "persistent" }], params: { transposeB: true } },
    { name: "no multiple of a tile", inputs: [f32(67, 35), f32(35, 71)] },
    { name: "no multiple of a tile, b transposed", inputs: [f32(35, 67), f32(71, 67)], params: { transposeB: true } },
    { name: "a transposed", inputs: [f32(67, 35), f32(67, 33)], params: { transposeA: true } },
    { name: "whole tiles", inputs: [f32(64, 64), f32(64, 64)] },
    { name: "column vector", inputs: [f32(67, 33), f32(33, 1)] },
    { name: "weight as constant", inputs: [f32(3, 8), { ...f32(8, 5), as: "constant" }] },
    { name: "batched", inputs: [f32(3, 5, 7), f32(3, 7, 4)] },
    { name: "one b for all", inputs: [f32(2, 3, 5, 7), f32(7, 4)] },
    { name: "batch stretched on both sides", inputs: [f32(2, 1, 3, 5), f32(4, 5, 6)] },
    { name: "one a for all, both transposed", inputs: [f32(7, 5), f32(3, 4, 7)], params: { transposeA: true, transposeB: true } },
    { name: "f16 weight", inputs: [f32(5, 67), { ...tensor("f16", 33, 67), as: "persistent" }], params: { transposeB: true } },
    { name: "f16 weight, one row", inputs: [f32(1, 64), { ...tensor("f16", 33, 64), as: "persistent" }], params: { transposeB: true } },
    { name: "f16 weight, plain", inputs: [f32(5, 19), { ...tensor("f16", 19, 33), as: "persistent" }] },
    { name: "bf16 weight", inputs: [f32(5, 67), { ...tensor("bf16", 33, 67), as: "persistent" }], params: { transposeB: true } },
    { name: "no rows", inputs: [f32(0, 4), f32(4, 3)] },
    { name: "no columns", inputs: [f32(2, 4), f32(4, 0)] },
    { name: "nothing to sum", inputs: [f32(2, 0), f32(0, 3)] },
    ...quantized,
    ...rounded16,
    ...half,
  ],
  wrong: [
    {
      name: "inner extents",
      inputs: [f32(4, 8), f32(4, 8)],
      error: "ShapeError",
      message: /a \[\.\.\., m, k\] x b \[\.\.\., k, n\], got f32 \[4, 8\] and f32 \[4, 8\]; transpose one/,
    },
    { name: "vector", inputs: [f32(8), f32(8, 4)], error: "ShapeError", message: /rank 2 or more, got f32 \[8\]; reshape/ },
    { name: "batch", inputs: [f32(2, 4, 8), f32(3, 8, 4)], error: "ShapeError", message: /broadcast/ },
    {
      name: "symbolic inner",
      inputs: [{ dtype: "f32", shape: [2, { name: "T", max: 8 }] }, f32(8, 4)],
      error: "ShapeError",
      message: /T≤8/,
    },
    { name: "f16 a", inputs: [tensor("f16", 2, 8), f32(8, 4)], error: "DTypeError", message: /a in f32, got f16/ },
    { name: "i8 b", inputs: [f32(2, 8), tensor("i8", 8, 4)], error: "DTypeError", message: /b in f32 or f16 or bf16/ },
    {
      name: "quantised, plain",
      inputs: [f32(2, 32), tensor("q8_0", 32, 32)],
      error: "ArgumentError",
      message: /transposeB for b in q8_0/,
    },
    {
      name: "activations",
      inputs: [f32(2, 8), f32(8, 4)],
      params: { activations: "f16" },
      error: "ArgumentError",
      message: /activations to be "f32" or "half" or "ggml", got "f16"/,
    },
    {
      name: "transposeB",
      inputs: [f32(2, 8), f32(8, 4)],
      params: { transposeB: "yes" },
      error: "ArgumentError",
      message: /transposeB to be true or false, got "yes"/,
    },
  ],
};
