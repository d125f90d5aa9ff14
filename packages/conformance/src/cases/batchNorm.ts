import { batchNormGoldens } from "../goldens/batchNorm.ts";
import { f32, type OpCases, tensor } from "../opCases.ts";

const positive = { low: 0.25, high: 2 };

export const batchNorm: OpCases<"batchNorm"> = {
  // Four roundings and a reciprocal root of 2 ulp; the last sum may cancel.
  tolerance: { f32: { rtol: 1e-5, atol: 1e-6 } },
  cases: [
    ...batchNormGoldens,
    { name: "image", inputs: [f32(2, 6, 5, 7), f32(6), { ...f32(6), fill: positive }, f32(6), f32(6)], params: { eps: 1e-5 } },
    { name: "features", inputs: [f32(3, 67), f32(67), { ...f32(67), fill: positive }, f32(67), f32(67)], params: { eps: 1e-3 } },
    { name: "no items", inputs: [f32(0, 4, 3), f32(4), f32(4), f32(4), f32(4)], params: { eps: 1e-5 } },
    { name: "empty points", inputs: [f32(2, 4, 0), f32(4), f32(4), f32(4), f32(4)], params: { eps: 1e-5 } },
  ],
  wrong: [
    {
      name: "rank",
      inputs: [f32(6), f32(6), f32(6), f32(6), f32(6)],
      params: { eps: 0 },
      error: "ShapeError",
      message: /x \[N, C, \.\.\.\]/,
    },
    {
      name: "mean",
      inputs: [f32(2, 6), f32(5), f32(6), f32(6), f32(6)],
      params: { eps: 0 },
      error: "ShapeError",
      message: /mean \[6\], got f32 \[5\]/,
    },
    {
      name: "variance",
      inputs: [f32(2, 6), f32(6), f32(6, 1), f32(6), f32(6)],
      params: { eps: 0 },
      error: "ShapeError",
      message: /variance \[6\]/,
    },
    { name: "w", inputs: [f32(2, 6), f32(6), f32(6), f32(), f32(6)], params: { eps: 0 }, error: "ShapeError", message: /w \[6\]/ },
    {
      name: "bias",
      inputs: [f32(2, 6), f32(6), f32(6), f32(6), tensor("f16", 6)],
      params: { eps: 0 },
      error: "DTypeError",
      message: /bias in f32/,
    },
    {
      name: "f16",
      inputs: [tensor("f16", 2, 6), f32(6), f32(6), f32(6), f32(6)],
      params: { eps: 0 },
      error: "DTypeError",
      message: /x in f32/,
    },
    {
      name: "eps",
      inputs: [f32(2, 6), f32(6), f32(6), f32(6), f32(6)],
      params: { eps: Number.NaN },
      error: "ArgumentError",
      message: /eps to be a finite number from 0, got NaN/,
    },
    { name: "no eps", inputs: [f32(2, 6), f32(6), f32(6), f32(6), f32(6)], error: "ArgumentError", message: /option eps, got none/ },
  ],
};
