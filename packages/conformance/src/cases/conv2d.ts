import { conv2dGoldens } from "../goldens/conv2d.ts";
import { f32, i32, type OpCases } from "../opCases.ts";

export const conv2d: OpCases<"conv2d"> = {
  // f32 sums of up to 45 products of size 1.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-5 } },
  cases: [
    ...conv2dGoldens,
    { name: "3 x 3 with padding", inputs: [f32(1, 3, 13, 11), f32(8, 3, 3, 3)], params: { padding: [1, 1] } },
    { name: "1 x 1", inputs: [f32(2, 5, 7, 9), f32(4, 5, 1, 1)] },
    {
      name: "stride and dilation",
      inputs: [f32(1, 5, 17, 19), f32(3, 5, 3, 3)],
      params: { stride: [2, 3], dilation: [2, 1], padding: [2, 0] },
    },
    { name: "groups", inputs: [f32(2, 6, 9, 8), f32(9, 2, 3, 2)], params: { groups: 3 } },
    { name: "kernel as large as the image", inputs: [f32(1, 2, 4, 5), f32(3, 2, 4, 5)] },
    { name: "only padding", inputs: [f32(1, 1, 1, 1), f32(1, 1, 3, 3)], params: { padding: [3, 3], stride: [2, 2] } },
    { name: "no images", inputs: [f32(0, 3, 8, 8), f32(4, 3, 3, 3)] },
    { name: "no channels", inputs: [f32(1, 0, 4, 4), f32(2, 0, 3, 3)] },
  ],
  wrong: [
    { name: "channels", inputs: [f32(1, 3, 8, 8), f32(4, 2, 3, 3)], error: "ShapeError", message: /C \/ groups = 3/ },
    {
      name: "rank",
      inputs: [f32(3, 8, 8), f32(4, 3, 3, 3)],
      error: "ShapeError",
      message: /x \[N, C, H, W\], got f32 \[3, 8, 8\]; reshape it/,
    },
    {
      name: "groups do not divide",
      inputs: [f32(1, 4, 8, 8), f32(4, 2, 3, 3)],
      params: { groups: 3 },
      error: "ArgumentError",
      message: /groups that divide C = 4 and O = 4, got 3/,
    },
    {
      name: "no groups",
      inputs: [f32(1, 4, 8, 8), f32(4, 4, 3, 3)],
      params: { groups: 0 },
      error: "ArgumentError",
      message: /groups to be a whole number from 1, got 0/,
    },
    { name: "kernel too large", inputs: [f32(1, 1, 3, 3), f32(1, 1, 5, 5)], error: "ShapeError", message: /pad more/ },
    { name: "no kernel", inputs: [f32(1, 1, 3, 3), f32(1, 1, 0, 1)], error: "ShapeError", message: /at least \[1, 1\]/ },
    {
      name: "stride 0",
      inputs: [f32(1, 1, 3, 3), f32(1, 1, 1, 1)],
      params: { stride: [1, 0] },
      error: "ArgumentError",
      message: /stride to be a whole number from 1, got 0/,
    },
    {
      name: "negative padding",
      inputs: [f32(1, 1, 3, 3), f32(1, 1, 1, 1)],
      params: { padding: [-1, 0] },
      error: "ArgumentError",
      message: /padding.*got -1/,
    },
    {
      name: "no pair",
      inputs: [f32(1, 1, 3, 3), f32(1, 1, 1, 1)],
      params: { dilation: 2 },
      error: "ArgumentError",
      message: /dilation to be a pair/,
    },
    {
      name: "symbolic height",
      inputs: [{ dtype: "f32", shape: [1, 1, { name: "H", max: 8 }, 3] }, f32(1, 1, 1, 1)],
      error: "ShapeError",
      message: /H of x to be a number, got the symbolic dim H/,
    },
    { name: "dtype", inputs: [f32(1, 1, 3, 3), i32([1, 1, 1, 1], [1])], error: "DTypeError", message: /w in f32/ },
  ],
};
