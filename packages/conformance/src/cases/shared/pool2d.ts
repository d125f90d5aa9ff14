import { f32, type SharedCase, tensor, type WrongCase } from "../../opCases.ts";

/** Cases of the ops that reduce windows of images. */
export const pool2dCases: readonly SharedCase<{
  readonly kernel: readonly [number, number];
  readonly stride?: readonly [number, number];
  readonly padding?: readonly [number, number];
}>[] = [
  { name: "side by side", inputs: [f32(2, 3, 8, 10)], params: { kernel: [2, 2] } },
  { name: "overlapping, padded", inputs: [f32(1, 5, 9, 7)], params: { kernel: [3, 2], stride: [2, 1], padding: [1, 1] } },
  { name: "whole image", inputs: [f32(2, 3, 4, 5)], params: { kernel: [4, 5] } },
  { name: "rest left out", inputs: [f32(1, 1, 5, 5)], params: { kernel: [2, 3] } },
  { name: "no items", inputs: [f32(0, 3, 4, 4)], params: { kernel: [2, 2] } },
  {
    name: "NaN and infinities",
    inputs: [
      {
        dtype: "f32",
        shape: [1, 1, 2, 4],
        values: [
          1,
          Number.NaN,
          Number.NEGATIVE_INFINITY,
          Number.NEGATIVE_INFINITY,
          2,
          3,
          Number.NEGATIVE_INFINITY,
          Number.NEGATIVE_INFINITY,
        ],
      },
    ],
    params: { kernel: [2, 2] },
  },
];

/** What they all refuse. */
export const pool2dMistakes: readonly WrongCase[] = [
  {
    name: "rank",
    inputs: [f32(3, 8, 8)],
    params: { kernel: [2, 2] },
    error: "ShapeError",
    message: /x \[N, C, H, W\], got f32 \[3, 8, 8\]/,
  },
  { name: "no kernel", inputs: [f32(1, 3, 8, 8)], error: "ArgumentError", message: /option kernel, got none/ },
  {
    name: "kernel of 0",
    inputs: [f32(1, 3, 8, 8)],
    params: { kernel: [0, 2] },
    error: "ArgumentError",
    message: /kernel to be a whole number from 1, got 0/,
  },
  { name: "kernel is no pair", inputs: [f32(1, 3, 8, 8)], params: { kernel: 2 }, error: "ArgumentError", message: /kernel to be a pair/ },
  {
    name: "stride",
    inputs: [f32(1, 3, 8, 8)],
    params: { kernel: [2, 2], stride: [0, 1] },
    error: "ArgumentError",
    message: /stride to be a whole number from 1/,
  },
  {
    name: "padding",
    inputs: [f32(1, 3, 8, 8)],
    params: { kernel: [2, 2], padding: [2, 0] },
    error: "ArgumentError",
    message: /padding of at most half the kernel/,
  },
  {
    name: "negative padding",
    inputs: [f32(1, 3, 8, 8)],
    params: { kernel: [2, 2], padding: [-1, 0] },
    error: "ArgumentError",
    message: /padding to be a whole number from 0/,
  },
  {
    name: "kernel too large",
    inputs: [f32(1, 3, 2, 8)],
    params: { kernel: [3, 3] },
    error: "ShapeError",
    message: /a kernel that fits into the padded x, .*; pad more/,
  },
  {
    name: "symbolic height",
    inputs: [{ dtype: "f32", shape: [1, 3, { name: "H", max: 9 }, 4] }],
    params: { kernel: [2, 2] },
    error: "ShapeError",
    message: /H of x to be a number/,
  },
  { name: "f16", inputs: [tensor("f16", 1, 3, 8, 8)], params: { kernel: [2, 2] }, error: "DTypeError", message: /x in f32, got f16/ },
];
