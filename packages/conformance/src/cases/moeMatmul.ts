import type { DType } from "@centella/core";
import { moeMatmulGoldens } from "../goldens/moeMatmul.ts";
import { bfloatProducts, blockTypes, f32, halfProducts, i32, type OpCase, type OpCases, type Tolerance, tensor } from "../opCases.ts";

/** As in `matmul`: ggml multiplies the minima of q4_1 and q5_1 by sums of activations that it stores as f16. */
const storedSums: Tolerance = { rtol: 1e-5, atol: 0.03 };

const quantized: readonly OpCase<"moeMatmul">[] = blockTypes.flatMap((type) =>
  (["f32", "ggml"] as const).map(
    (activations): OpCase<"moeMatmul"> => ({
      name: `${type} experts, ${activations} activations`,
      inputs: [f32(3, 256), tensor(type, 3, 11, 256), i32([3, 2], [2, 0, 1, 2, 2, 1])],
      params: { activations },
      ...(activations === "ggml" && (type === "q4_1" || type === "q5_1") && { tolerance: storedSums }),
    }),
  ),
);

/** Operands that a backend may round to f16 or bf16. */
const halved = (rows: number, types: readonly DType[]): readonly OpCase<"moeMatmul">[] =>
  types.map((dtype) => ({
    name: `${dtype} experts of ${rows} rows, half activations`,
    inputs: [
      f32(23, 256),
      { ...tensor(dtype, 4, rows, 256), as: "persistent" },
      i32(
        [23, 1],
        Array.from({ length: 23 }, (_, t) => t % 3),
      ),
    ],
    params: { activations: "half" },
    tolerance: dtype === "bf16" ? bfloatProducts : halfProducts,
  }));

export const moeMatmul: OpCases<"moeMatmul"> = {
  // f32 sums of up to 512 products of size 1, in any order; weights of block types reach 2.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-4 } },
  cases: [
    ...moeMatmulGoldens,
    { name: "one token", inputs: [f32(1, 67), { ...f32(4, 33, 67), as: "persistent" }, i32([1, 2], [3, 1])] },
    {
      name: "many tokens with one expert, others unused",
      inputs: [
        f32(21, 64),
        { ...f32(5, 35, 64), as: "persistent" },
        i32(
          [21, 1],
          Array.from({ length: 21 }, (_, t) => (t % 7 === 3 ? 0 : 4)),
        ),
      ],
    },
    {
      name: "a vector for each expert",
      inputs: [
        f32(9, 3, 40),
        f32(4, 16, 40),
        i32(
          [9, 3],
          Array.from({ length: 27 }, (_, i) => (i * 7) % 4),
        ),
      ],
    },
    { name: "f16 experts", inputs: [f32(2, 67), { ...tensor("f16", 3, 8, 67), as: "persistent" }, i32([2, 2], [0, 2, 1, 2])] },
    { name: "bf16 experts", inputs: [f32(2, 64), { ...tensor("bf16", 3, 8, 64), as: "persistent" }, i32([2, 2], [0, 2, 1, 2])] },
    ...(["f16", "bf16"] as const).flatMap((dtype) => [
      {
        name: `${dtype} experts, ggml activations`,
        inputs: [f32(2, 67), { ...tensor(dtype, 3, 8, 67), as: "persistent" as const }, i32([2, 2], [0, 2, 1, 2])],
        params: { activations: "ggml" as const },
      },
      {
        name: `${dtype} experts, a vector for each, ggml activations`,
        inputs: [
          f32(9, 3, 40),
          tensor(dtype, 4, 16, 40),
          i32(
            [9, 3],
            Array.from({ length: 27 }, (_, i) => (i * 7) % 4),
          ),
        ],
        params: { activations: "ggml" as const },
      },
    ]),
    {
      name: "whole groups of rows, ggml activations",
      inputs: [f32(6, 2, 256), tensor("q4_0", 3, 16, 256), i32([6, 2], [0, 1, 1, 2, 2, 0, 0, 1, 1, 1, 2, 0])],
      params: { activations: "ggml" },
    },
    ...quantized,
    ...halved(13, ["f16", "q4_K", "q8_0"]),
    // Whole row tiles.
    ...halved(48, ["bf16", ...blockTypes]),
    ...(["f32", "ggml"] as const).map((activations) => ({
      name: `more tokens than experts, ${activations} activations`,
      inputs: [
        f32(23, 64),
        tensor("q8_0", 4, 13, 64),
        i32(
          [23, 2],
          Array.from({ length: 46 }, (_, i) => (i * 5) % 4),
        ),
      ],
      params: { activations },
    })),
    { name: "no tokens", inputs: [f32(0, 8), f32(2, 3, 8), i32([0, 2], [])] },
    { name: "nothing to sum", inputs: [f32(2, 0), f32(2, 3, 0), i32([2, 1], [0, 1])] },
  ],
  wrong: [
    {
      name: "inner extents",
      inputs: [f32(2, 8), f32(3, 4, 9), i32([2, 1], [0, 1])],
      error: "ShapeError",
      message: /x \[2, 9\], got f32 \[2, 8\]/,
    },
    {
      name: "vectors",
      inputs: [f32(2, 3, 8), f32(3, 4, 8), i32([2, 1], [0, 1])],
      error: "ShapeError",
      message: /x \[2, 1, 8\], got f32 \[2, 3, 8\]/,
    },
    { name: "rank of x", inputs: [f32(8), f32(3, 4, 8), i32([2, 1], [0, 1])], error: "ShapeError", message: /x \[T, K\] or \[T, k, K\]/ },
    { name: "rank of experts", inputs: [f32(2, 8), f32(4, 8), i32([2, 1], [0, 1])], error: "ShapeError", message: /experts \[E, N, K\]/ },
    { name: "ids", inputs: [f32(2, 8), f32(3, 4, 8), f32(2, 1)], error: "DTypeError", message: /ids in i32/ },
    {
      name: "i8 experts",
      inputs: [f32(2, 8), tensor("i8", 3, 4, 8), i32([2, 1], [0, 1])],
      error: "DTypeError",
      message: /experts in f32 or/,
    },
    { name: "f16 x", inputs: [tensor("f16", 2, 8), f32(3, 4, 8), i32([2, 1], [0, 1])], error: "DTypeError", message: /x in f32/ },
    {
      name: "activations",
      inputs: [f32(2, 8), f32(3, 4, 8), i32([2, 1], [0, 1])],
      params: { activations: "i8" },
      error: "ArgumentError",
      message: /activations to be "f32" or "half" or "ggml"/,
    },
  ],
};
