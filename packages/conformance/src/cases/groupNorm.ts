import { groupNormGoldens } from "../goldens/groupNorm.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";

export const groupNorm: OpCases<"groupNorm"> = {
  // f32 sums of up to 300 values and squares, and a reciprocal root of 2 ulp.
  tolerance: { f32: { rtol: 2e-5, atol: 4e-6 } },
  cases: [
    ...groupNormGoldens,
    { name: "image", inputs: [f32(2, 6, 5, 7), f32(6)], params: { groups: 3, eps: 1e-5 } },
    { name: "bias", inputs: [f32(2, 6, 5), f32(6)], optional: { bias: f32(6) }, params: { groups: 2, eps: 1e-5 } },
    { name: "instance norm", inputs: [f32(1, 4, 67), f32(4)], params: { groups: 4, eps: 1e-5 } },
    { name: "groups that several share", inputs: [f32(1, 4, 130, 130), f32(4)], params: { groups: 2, eps: 1e-5 } },
    {
      name: "odd groups that several share",
      inputs: [f32(1, 3, 11_003), f32(3)],
      optional: { bias: f32(3) },
      params: { groups: 1, eps: 1e-5 },
    },
    { name: "long rows", inputs: [f32(1, 4, 64, 40), f32(4)], optional: { bias: f32(4) }, params: { groups: 2, eps: 1e-5 } },
    { name: "no points", inputs: [f32(3, 8), f32(8)], params: { groups: 2, eps: 1e-5 } },
    { name: "no items", inputs: [f32(0, 4, 3), f32(4)], params: { groups: 2, eps: 1e-5 } },
    { name: "empty points", inputs: [f32(2, 4, 0), f32(4)], params: { groups: 2, eps: 1e-5 } },
  ],
  wrong: [
    {
      name: "groups",
      inputs: [f32(2, 6, 5), f32(6)],
      params: { groups: 4, eps: 0 },
      error: "ArgumentError",
      message: /groups that divide C = 6, got 4/,
    },
    {
      name: "no group",
      inputs: [f32(2, 6), f32(6)],
      params: { groups: 0, eps: 0 },
      error: "ArgumentError",
      message: /whole number from 1, got 0/,
    },
    {
      name: "groups left out",
      inputs: [f32(2, 6), f32(6)],
      params: { eps: 0 },
      error: "ArgumentError",
      message: /option groups, got none/,
    },
    {
      name: "eps",
      inputs: [f32(2, 6), f32(6)],
      params: { groups: 2, eps: -1 },
      error: "ArgumentError",
      message: /eps to be a finite number from 0/,
    },
    {
      name: "rank",
      inputs: [f32(6), f32(6)],
      params: { groups: 2, eps: 0 },
      error: "ShapeError",
      message: /x \[N, C, \.\.\.\], got f32 \[6\]; reshape it/,
    },
    { name: "weight", inputs: [f32(2, 6), f32(5)], params: { groups: 2, eps: 0 }, error: "ShapeError", message: /w \[6\], got f32 \[5\]/ },
    {
      name: "bias",
      inputs: [f32(2, 6), f32(6)],
      optional: { bias: f32(1) },
      params: { groups: 2, eps: 0 },
      error: "ShapeError",
      message: /bias \[6\]/,
    },
    {
      name: "symbolic channels",
      inputs: [{ dtype: "f32", shape: [2, { name: "C", max: 6 }] }, f32(6)],
      params: { groups: 2, eps: 0 },
      error: "ShapeError",
      message: /symbolic dim C/,
    },
    { name: "f16", inputs: [tensor("f16", 2, 6), f32(6)], params: { groups: 2, eps: 0 }, error: "DTypeError", message: /x in f32/ },
    { name: "f16 weight", inputs: [f32(2, 6), tensor("f16", 6)], params: { groups: 2, eps: 0 }, error: "DTypeError", message: /w in f32/ },
  ],
};
