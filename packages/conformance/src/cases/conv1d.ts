import { conv1dGoldens } from "../goldens/conv1d.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";

export const conv1d: OpCases<"conv1d"> = {
  // f32 sums of up to 24 products of size 1.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-5 } },
  cases: [
    ...conv1dGoldens,
    { name: "plain", inputs: [f32(2, 3, 37), f32(5, 3, 4)] },
    { name: "speech encoder", inputs: [f32(1, 8, 40), f32(6, 8, 3)], params: { stride: 2, padding: 1 } },
    { name: "dilated groups", inputs: [f32(1, 4, 33), f32(6, 2, 3)], params: { dilation: 3, groups: 2 } },
    { name: "depthwise", inputs: [f32(2, 5, 9), f32(5, 1, 4)], params: { padding: 3, groups: 5 } },
    { name: "one output", inputs: [f32(1, 2, 3), f32(1, 2, 3)] },
    { name: "no items", inputs: [f32(0, 2, 5), f32(3, 2, 2)] },
  ],
  wrong: [
    { name: "rank of x", inputs: [f32(3, 8), f32(5, 3, 4)], error: "ShapeError", message: /x \[N, C, L\], got f32 \[3, 8\]; reshape it/ },
    { name: "rank of w", inputs: [f32(1, 3, 8), f32(5, 3)], error: "ShapeError", message: /w \[O, C \/ groups, k\]/ },
    { name: "channels", inputs: [f32(1, 3, 8), f32(5, 2, 4)], error: "ShapeError", message: /w \[O, C \/ groups = 3, k\]/ },
    {
      name: "groups",
      inputs: [f32(1, 3, 8), f32(5, 3, 4)],
      params: { groups: 2 },
      error: "ArgumentError",
      message: /groups that divide C = 3 and O = 5, got 2/,
    },
    {
      name: "no group",
      inputs: [f32(1, 3, 8), f32(5, 3, 4)],
      params: { groups: 0 },
      error: "ArgumentError",
      message: /groups to be a whole number from 1/,
    },
    {
      name: "stride",
      inputs: [f32(1, 3, 8), f32(5, 3, 4)],
      params: { stride: 0 },
      error: "ArgumentError",
      message: /stride to be a whole number from 1/,
    },
    {
      name: "padding",
      inputs: [f32(1, 3, 8), f32(5, 3, 4)],
      params: { padding: -1 },
      error: "ArgumentError",
      message: /padding to be a whole number from 0/,
    },
    {
      name: "dilation",
      inputs: [f32(1, 3, 8), f32(5, 3, 4)],
      params: { dilation: 0 },
      error: "ArgumentError",
      message: /dilation to be a whole number from 1/,
    },
    {
      name: "kernel too long",
      inputs: [f32(1, 3, 3), f32(5, 3, 4)],
      error: "ShapeError",
      message: /a kernel that fits into the padded x, .*; pad more/,
    },
    { name: "empty kernel", inputs: [f32(1, 3, 3), f32(5, 3, 0)], error: "ShapeError", message: /a kernel of at least \[1\]/ },
    {
      name: "symbolic length",
      inputs: [{ dtype: "f32", shape: [1, 3, { name: "L", max: 9 }] }, f32(5, 3, 4)],
      error: "ShapeError",
      message: /L of x to be a number, got the symbolic dim L/,
    },
    { name: "f16", inputs: [tensor("f16", 1, 3, 8), f32(5, 3, 4)], error: "DTypeError", message: /x in f32, got f16/ },
    { name: "f16 weight", inputs: [f32(1, 3, 8), tensor("f16", 5, 3, 4)], error: "DTypeError", message: /w in f32, got f16/ },
  ],
};
